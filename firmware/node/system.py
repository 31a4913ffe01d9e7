# The link's own methods: the manifest, leases, safe outputs, and how the board is.

import struct
from time import ticks_ms

import frame
from micropython import const
from node.calls import AT, Refusal, need
from node.uptime import Uptime

_MANIFEST_CHUNK_BYTES = const(200)
# An erase of a flash sector and the write; nothing is read meanwhile
_WRITE_BUSY_MS = const(600)
_STOPPED = b"stopped"


class System:
    # `load_manifest` reads it from flash, where it stays until the Pi asks for it.

    def __init__(self, outputs, load_manifest, configuration, deadman, stop_store):
        self._outputs = outputs
        # An emergency stop outlives a loss of power: reflexes need no Pi to move something
        self._stop_store = stop_store
        # What is torn may have been one: nobody can tell, so it counts as one
        self._is_stop_kept = stop_store.load() == _STOPPED or stop_store.is_torn()
        if self._is_stop_kept:
            outputs.lock(frame.REASON_ESTOP)
        self._configuration = configuration
        self._deadman = deadman
        self._load_manifest = load_manifest
        self._manifest = None
        self._uptime = Uptime()
        self._in_session = False
        # Set by the link, which knows its decoder
        self.frames = 0
        self.dropped = 0
        # Takes milliseconds and tells the Pi that nothing will be read for so long
        self.announce_busy = _nobody_to_tell

    def handlers(self):
        return {
            frame.METHOD_MANIFEST: self._send_manifest,
            frame.METHOD_LEASE_RENEW: self._renew_leases,
            frame.METHOD_SAFE: self._make_safe,
            frame.METHOD_STATUS: self._status,
            frame.METHOD_CLEAR: self._clear,
        }

    @property
    def state(self):
        if self._outputs.reason:
            return frame.STATE_SAFE
        if self._outputs.held:
            return frame.STATE_ARMED
        if not self._in_session:
            return frame.STATE_BOOT
        configured = any(self._configuration.hash)
        return frame.STATE_CONFIGURED if configured else frame.STATE_IDLE

    @property
    def configuration_hash(self):
        return self._configuration.hash

    def begin_session(self, is_open):
        # Every session starts with safe outputs; what is locked stays locked
        self._outputs.release()
        self._manifest = None
        self._in_session = is_open

    def heard(self, now_ms):
        # A valid frame of the session has come
        self._deadman.heard(now_ms)

    def tick(self, now_ms):
        self._outputs.tick(now_ms)
        self._uptime.advance(now_ms)
        # Not in `stop`: the outputs are safe long before flash is written
        if self._outputs.reason == frame.REASON_ESTOP and not self._is_stop_kept:
            self._is_stop_kept = True
            try:
                self._keep(_STOPPED)
            except OSError:  # full or worn out: the stop holds until the power goes
                return

    def stop(self):
        self._outputs.lock(frame.REASON_ESTOP)

    def fail(self):
        # The loop itself is at fault
        self._outputs.lock(frame.REASON_FAULT)

    def uptime_ms(self, now_ms):
        return self._uptime.milliseconds(now_ms)

    def _send_manifest(self, arguments, answer):
        need(arguments, 4)
        offset = struct.unpack_from("<I", arguments, 0)[0]
        manifest = self._manifest = self._manifest or self._load_manifest()
        total = len(manifest)
        if offset > total:
            raise Refusal(frame.OUT_OF_RANGE, "offset beyond the manifest")
        count = min(_MANIFEST_CHUNK_BYTES, total - offset)
        struct.pack_into("<I", answer, AT, total)
        start = AT + 4
        answer[start : start + count] = manifest[offset : offset + count]
        if offset + count == total:
            self._manifest = None
        return 4 + count

    def _renew_leases(self, arguments, answer):
        need(arguments, 4)
        mask = struct.unpack_from("<I", arguments, 0)[0]
        struct.pack_into("<I", answer, AT, self._outputs.renew(mask, ticks_ms()))
        return 4

    def _make_safe(self, _arguments, _answer):
        self._outputs.make_safe()
        return 0

    def _clear(self, arguments, answer):
        need(arguments, 1)
        self._outputs.clear(arguments[0])
        if self._is_stop_kept:
            try:
                self._keep(b"")
            except OSError:  # it would come back with the power: better now than by surprise
                self._outputs.lock(frame.REASON_ESTOP)
                raise Refusal(frame.IO, "the flash did not take it")  # noqa: B904  - MicroPython keeps no causes
            self._is_stop_kept = False
        answer[AT] = self.state
        return 1

    def _keep(self, text):
        self.announce_busy(_WRITE_BUSY_MS)
        self._stop_store.save(text)
        if self._stop_store.is_torn():
            # The other place, which a cut has left
            self._stop_store.save(text)

    def _status(self, _arguments, answer):
        outputs = self._outputs
        fields = (self.state, self.uptime_ms(ticks_ms()), outputs.leased, self.frames, self.dropped)
        struct.pack_into(frame.STATUS_FORMAT, answer, AT, *fields, outputs.reason)
        return 18


def _nobody_to_tell(_milliseconds):
    pass
