# The main loop: listen, answer, look after the outputs, feed the watchdog.

import gc
import sys
from time import ticks_diff, ticks_ms

import frame
import machine
import micropython
from micropython import const
from node import features
from node.calls import Calls
from node.configuration import Configuration
from node.deadman import DeadMan
from node.events import Events
from node.pins import Pins, Unfit
from node.port import Port, open_stream
from node.session import Session
from node.store import Store
from node.system import System
from node.unload import COLLECT_EVERY_BYTES, unload

# Longer than any pass can take, short enough that a wedged board is safe soon
_WATCHDOG_MS = const(2_000)
# While flash is erased and written nothing runs, for up to 2.8 s where sectors are large
_WRITE_MS = const(8_000)
# In one pass: an update marks a slot, and a stop is written down in both its places. A loop that
# writes and writes ends in a reset like any other that does not come around.
_WRITES_MOST = const(6)
# How long the MCU may doze before the outputs are looked at again
_PASS_MS = const(10)
_READ_BYTES = const(128)
# Collecting takes 8 ms on the MCU: done while nothing happens, not in the middle of a request
_COLLECT_EVERY_MS = const(2_000)


class Loop:
    def __init__(self, board):
        # First of all, so that the outputs are safe before anything else can fail
        self._configuration = Configuration(board, Store(board.CLASS, "configuration"))
        pins = self._made_pins(board)
        self._deadman = DeadMan(pins.outputs)
        self._port = Port(open_stream(board.LINK), board.LINK[2])
        self._system = System(
            pins.outputs,
            _load_manifest,
            self._configuration,
            self._deadman,
            Store(board.CLASS, "stop"),
        )
        found = features.of(board, pins, self._system, self._configuration)
        unload("places")
        events = Events(pins, self._system, found)
        self._calls = Calls(found + (events,))  # noqa: RUF005  - MicroPython has no (*found, ...)
        self._session = Session(
            self._port,
            self._calls,
            self._system,
            self._greeting(board),
            board.RECEIVE_WINDOW_BYTES,
            events,
        )
        self._system.announce_busy = self._announce_write
        # Since the last pass
        self._writes = 0
        self._configuration.attach(pins, self._calls, self._system)
        if machine.reset_cause() == machine.WDT_RESET:
            pins.outputs.lock(frame.REASON_WATCHDOG)
        self._timer_number = board.DEADMAN_TIMER
        self._buffer = bytearray(_READ_BYTES)
        self._collected_ms = ticks_ms()

    def _made_pins(self, board):
        # As they are wired, so that the first level of every output is its own safe one
        try:
            return Pins(board.PINS, board.SUPPLY_MV, self._configuration.stored_entries())
        except Unfit:
            self._configuration.forget()
            return Pins(board.PINS, board.SUPPLY_MV)
        finally:
            unload("pin_table")
            unload("wiring")

    def _greeting(self, board):
        from node import identity  # noqa: PLC0415  - needed for a moment

        unload("identity")
        return identity.greeting(board, _description())

    def run(self):
        gc.threshold(COLLECT_EVERY_BYTES)
        # From here on a Ctrl-C byte is data
        micropython.kbd_intr(-1)
        watchdog = machine.WDT(timeout=_WATCHDOG_MS)
        self._deadman.start(self._timer_number)
        while True:
            try:
                self._pass()
            except (
                Exception
            ):  # a fault of ours: outputs safe, go on; if it lasts, the watchdog acts
                self._fail()
            else:
                self._deadman.passed(ticks_ms())
                if self._writes:
                    self._writes = 0
                    watchdog = machine.WDT(timeout=_WATCHDOG_MS)
                watchdog.feed()

    def _announce_write(self, milliseconds):
        self._session.announce_busy(milliseconds)
        if self._writes < _WRITES_MOST:
            self._writes += 1
            # The new time counts from when it is fed
            machine.WDT(timeout=_WRITE_MS).feed()

    def _fail(self):
        try:
            self._system.fail()
        except Exception:  # an output that cannot be driven: the watchdog ends that
            return

    def _pass(self):
        session = self._session
        if session.is_idle:
            self._port.wait(_PASS_MS)
        length = self._port.read_into(self._buffer)
        now_ms = ticks_ms()
        if length:
            session.receive(self._buffer, length, now_ms)
        session.transmit(now_ms)
        now_ms = ticks_ms()
        self._calls.tick(now_ms)
        if not length and ticks_diff(now_ms, self._collected_ms) >= _COLLECT_EVERY_MS:
            self._collected_ms = now_ms
            gc.collect()


def _description():
    # A twentieth of what a small board has, and needed for moments
    import description  # noqa: PLC0415  - as above

    sys.modules.pop("description")
    return description


def _load_manifest():
    return _description().MANIFEST


def run(board):
    Loop(board).run()
