# A new version of the firmware over the link: into the slot that does not run, proven by its hash,
# started on trial, kept only when the Pi has spoken with it.
#
# Outputs that are on, and anything that stops the board from listening, do not go together: an
# update waits until every output is safe, and says BUSY before each write.

import gc
import json
import struct
from time import ticks_diff, ticks_ms

import frame
import machine
import slots
from micropython import const
from node.calls import AT, Refusal, need

STATE = 0
BEGIN = 1
WRITE = 2
FINISH = 3
CONFIRM = 4
REVERT = 5

WRITE_LIMIT_BYTES = 200
_NO_SLOT = const(255)
# firmware/frozen_slots.py
_FROZEN = const(254)
# On trial: to be greeted, and to be confirmed; after that this version is given up
_GREETED_WITHIN_MS = const(10_000)
_CONFIRMED_WITHIN_MS = const(30_000)
# The answer has to get out before the board resets
_RESET_AFTER_MS = const(300)
# Collected in RAM between two writes: flash is erased in far larger pieces than a frame carries
_BUFFER_BYTES = const(2_048)
# Erasing and writing 16 KB takes up to 0.8 s on an F4
_WRITE_BUSY_MS = const(1_000)
# And one of 128 KB up to 2 s
_ERASE_BUSY_MS = const(2_500)
# A version that leaves less than this cannot work for long
_HEAP_LEAST_BYTES = const(6_000)
# Smaller steps than this are not written twice into flash with error correction
_ALIGN_BYTES = const(32)


class Update:
    # `outputs` tells what is on, `system` whose BUSY it is; `store` is where the slots are.

    def __init__(self, board, outputs, system, store):
        self._board = board
        self._outputs = outputs
        self._system = system
        self._store = store
        self._slot = 0 if slots.running else 1
        self._page = -1
        self._wanted = (b"", 0)
        self._next = -1
        self._buffer = bytearray()  # taken when an update begins
        self._filled = 0
        self._reset_ms = None
        self._began_ms = ticks_ms()
        self._on_trial = slots.trial
        self._was_greeted = False

    def handlers(self):
        return {frame.METHOD_UPDATE: self._run}

    def begin_session(self, is_open):
        self._was_greeted = self._was_greeted or is_open

    @property
    def is_idle(self):
        # Nothing is begun, on trial or about to happen
        return not (
            self._wanted[1] or self._page >= 0 or self._on_trial or self._reset_ms is not None
        )

    def tick(self, now_ms):
        # Nothing looks after an output while flash is erased
        if self._page >= 0 and not self._outputs.held:
            self._erase_page()
        if self._reset_ms is not None and ticks_diff(now_ms, self._reset_ms) >= _RESET_AFTER_MS:
            machine.reset()
        if self._on_trial:
            passed_ms = ticks_diff(now_ms, self._began_ms)
            limit_ms = _CONFIRMED_WITHIN_MS if self._was_greeted else _GREETED_WITHIN_MS
            if passed_ms >= limit_ms:
                machine.reset()

    def _run(self, arguments, answer):
        need(arguments, 1)
        action = arguments[0]
        if action == STATE:
            return self._state(answer)
        if slots.running == _FROZEN:
            raise Refusal(frame.NOT_SUPPORTED, "its firmware is frozen in: a whole image")
        if self._board.CLASS == 0:
            raise Refusal(frame.NOT_SUPPORTED, "its flash cannot keep two versions: scripts/flash")
        if action == CONFIRM:
            return self._confirm()
        if self._outputs.held:
            raise Refusal(frame.UNSAFE_STATE, "an output is on")
        if action == BEGIN:
            need(arguments, 37)
            return self._begin(bytes(arguments[5:37]), _u32(arguments), answer)
        if action == WRITE:
            need(arguments, 5)
            return self._write(_u32(arguments), arguments[5:], answer)
        if action == FINISH:
            return self._finish()
        if action == REVERT:
            return self._revert()
        raise Refusal(frame.NOT_SUPPORTED, "no such action")

    def _state(self, answer):
        running = _NO_SLOT if slots.running is None else slots.running
        room = 0
        keeps_two = 0
        if self._board.CLASS and running != _FROZEN:
            keeps_two = self._store.CLASS
            room = max(0, self._store.size(self._slot) - slots.IMAGE_AT)
        flags = 1 if self._on_trial else 0
        struct.pack_into("<BBBI", answer, AT, keeps_two, running, flags, room)
        return 7

    def _begin(self, digest, length, answer):
        # The offset from which to send, once the slot is erased or was found half full of the same
        if self._on_trial:
            raise Refusal(frame.BUSY_CODE, "this version is on trial itself")
        if self._page >= 0:
            raise Refusal(frame.BUSY_CODE, "erasing")
        if self._wanted != (digest, length) or self._next < 0:
            self._wanted = (digest, length)
            self._filled = 0
            self._buffer = self._buffer or bytearray(_BUFFER_BYTES)
            if not self._is_resumed(digest, length):
                self._erase(length)
        struct.pack_into("<I", answer, AT, self._next + self._filled)
        return 4

    def _is_resumed(self, digest, length):
        found = slots.header(self._store, self._slot)
        if found is None or found[:2] != (digest, length):
            return False
        if slots.is_marked(self._store, self._slot, slots.READY):
            return False  # it was whole and failed: from the beginning
        written = self._store.written(self._slot) - slots.IMAGE_AT
        if written < 0:
            return False  # not even the marks are whole
        self._next = min(length, written) // _ALIGN_BYTES * _ALIGN_BYTES
        return True

    def _erase(self, length):
        if length > self._store.size(self._slot) - slots.IMAGE_AT:
            raise Refusal(frame.OUT_OF_RANGE, "no room for a second version: use scripts/flash")
        # One page in each pass of the loop, so that the watchdog sees every one
        self._page = 0
        self._next = -1
        raise Refusal(frame.BUSY_CODE, "erasing")

    def _erase_page(self):
        self._system.announce_busy(_ERASE_BUSY_MS)
        try:
            self._store.erase(self._slot, self._page)
            self._page += 1
            if self._page < self._store.PAGES:
                return
            other = slots.header(self._store, 1 - self._slot)
            number = other[2] + 1 if other else 1
            header = struct.pack(slots.HEADER, self._wanted[0], self._wanted[1], number)
            self._store.write(self._slot, 0, header)
            self._next = 0
        except OSError:
            self._wanted = (b"", 0)
        self._page = -1

    def _write(self, offset, data, answer):
        if self._next < 0:
            raise Refusal(frame.BAD_REQUEST, "nothing was begun")
        at = self._next + self._filled
        if offset == at and len(data) <= min(WRITE_LIMIT_BYTES, self._wanted[1] - at):
            if self._filled + len(data) > _BUFFER_BYTES:
                self._flush()
            self._buffer[self._filled : self._filled + len(data)] = data
            self._filled += len(data)
        # Whatever came, the answer says what is wanted next
        struct.pack_into("<I", answer, AT, self._next + self._filled)
        return 4

    def _flush(self):
        if not self._filled:
            return
        self._system.announce_busy(_WRITE_BUSY_MS)
        data = memoryview(self._buffer)[: self._filled]
        self._store.write(self._slot, slots.IMAGE_AT + self._next, data)
        self._next += self._filled
        self._filled = 0

    def _finish(self):
        if self._next < 0 or self._next + self._filled < self._wanted[1]:
            raise Refusal(frame.BAD_REQUEST, "not all of it has arrived")
        self._flush()
        self._next = -1
        if not slots.is_sound(self._store, self._slot):
            # Nothing of it may be taken for a beginning
            self._page = 0
            raise Refusal(frame.IO, "what was written is not what was sent")
        if _about(self._store, self._slot).get("board") != self._board.NAME:
            raise Refusal(frame.BAD_REQUEST, "that firmware is for another board")
        self._mark(self._slot, slots.READY)
        self._reset_ms = ticks_ms()
        return 0

    def _confirm(self):
        if self._on_trial:
            self._test_itself()
            self._mark(slots.running, slots.CONFIRMED)
            self._on_trial = False
        return 0

    def _test_itself(self):
        # What a version must show, beside having been greeted, before it may stay
        gc.collect()
        if gc.mem_free() < _HEAP_LEAST_BYTES:
            raise Refusal(frame.IO, "too little memory is left")
        if not slots.is_sound(self._store, slots.running):
            raise Refusal(frame.IO, "its flash has changed")

    def _mark(self, slot, at):
        self._system.announce_busy(_WRITE_BUSY_MS)
        slots.mark(self._store, slot, at)

    def _revert(self):
        if slots.running is None or not slots.may_start(self._store, 1 - slots.running):
            raise Refusal(frame.NOT_SUPPORTED, "there is no other version to go back to")
        self._mark(slots.running, slots.REJECTED)
        self._reset_ms = ticks_ms()
        return 0


def _u32(arguments):
    return struct.unpack_from("<I", arguments, 1)[0]


def _about(store, slot):
    try:
        return json.loads(slots.Image(store, slot).open("about.json", "rb").read())
    except (ValueError, KeyError, OSError):
        return {}
