# What the board can be asked to do. A handler gets the packed arguments and writes the packed
# result into the answer; whatever goes wrong in it becomes an answer code.

import struct
from time import ticks_ms

import frame
from micropython import const
from node.uptime import Uptime

GPIO_WRITE = 16
GPIO_READ = 17
ADC_READ = 18
MCU_TEMPERATURE = 19

# Where the result begins in an answer
_AT = const(3)
_MANIFEST_CHUNK_BYTES = const(200)
_TEXT_LIMIT_BYTES = const(80)

STATE_BOOT = 0
STATE_IDLE = 1
STATE_ARMED = 3
STATE_SAFE = 4


class Refusal(Exception):
    # The request is understood and not done; `code` is an answer code, the text says why.

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


class Calls:
    def __init__(self, pins, thermometer, manifest):
        self._pins = pins
        self._outputs = pins.outputs
        self._thermometer = thermometer
        self._manifest = manifest
        self._uptime = Uptime()
        self._in_session = False
        # Set by the link, which knows its decoder
        self.frames = 0
        self.dropped = 0
        # The code of the last run
        self.code = frame.OK
        self._handlers = {
            frame.METHOD_MANIFEST: self._send_manifest,
            frame.METHOD_LEASE_RENEW: self._renew_leases,
            frame.METHOD_SAFE: self._make_safe,
            frame.METHOD_STATUS: self._status,
        }
        if pins.any_outputs:
            self._handlers[GPIO_WRITE] = self._gpio_write
        if pins.any_inputs:
            self._handlers[GPIO_READ] = self._gpio_read
        if pins.any_analog:
            self._handlers[ADC_READ] = self._adc_read
        if thermometer is not None:
            self._handlers[MCU_TEMPERATURE] = self._mcu_temperature

    @property
    def state(self):
        if self._outputs.stopped:
            return STATE_SAFE
        if self._outputs.leased:
            return STATE_ARMED
        return STATE_IDLE if self._in_session else STATE_BOOT

    def begin_session(self, is_open):
        # Every session starts with safe outputs, and ends what an ESTOP has locked
        self._outputs.begin_session()
        self._in_session = is_open

    def stop(self):
        self._outputs.stop()

    def tick(self, now_ms):
        self._outputs.tick(now_ms)
        self._uptime.advance(now_ms)

    def make_safe(self):
        self._outputs.make_safe()

    def uptime_ms(self, now_ms):
        return self._uptime.milliseconds(now_ms)

    def run(self, method, arguments, answer):
        # Returns how many bytes of result were written; `code` says how it went
        self.code = frame.OK
        try:
            return self._handlers.get(method, _unknown)(arguments, answer)
        except Refusal as refusal:
            self.code = refusal.code
            return _write_text(answer, refusal.text)
        except Exception as fault:  # a handler's fault is an answer, never the end of the loop
            self.code = frame.IO
            return _write_text(answer, type(fault).__name__)

    def _send_manifest(self, arguments, answer):
        _need(arguments, 4)
        offset = struct.unpack_from("<I", arguments, 0)[0]
        total = len(self._manifest)
        if offset > total:
            raise Refusal(frame.OUT_OF_RANGE, "offset beyond the manifest")
        count = min(_MANIFEST_CHUNK_BYTES, total - offset)
        struct.pack_into("<I", answer, _AT, total)
        start = _AT + 4
        answer[start : start + count] = self._manifest[offset : offset + count]
        return 4 + count

    def _renew_leases(self, arguments, answer):
        _need(arguments, 4)
        mask = struct.unpack_from("<I", arguments, 0)[0]
        struct.pack_into("<I", answer, _AT, self._outputs.renew(mask, ticks_ms()))
        return 4

    def _make_safe(self, _arguments, _answer):
        self._outputs.make_safe()
        return 0

    def _status(self, _arguments, answer):
        leased = self._outputs.leased
        fields = (self.state, self.uptime_ms(ticks_ms()), leased, self.frames, self.dropped)
        struct.pack_into("<BIIII", answer, _AT, *fields)
        return 17

    def _gpio_write(self, arguments, answer):
        _need(arguments, 2)
        index = arguments[0]
        value = arguments[1]
        if self._outputs.find(index) is None:
            raise Refusal(frame.BAD_PIN, "that pin is not an output")
        if value > 1:
            raise Refusal(frame.OUT_OF_RANGE, "a pin is off or on")
        if self._outputs.stopped:
            raise Refusal(frame.UNSAFE_STATE, "stopped: start a new session")
        answer[_AT] = self._outputs.write(index, value, ticks_ms())
        return 1

    def _gpio_read(self, arguments, answer):
        _need(arguments, 1)
        if not self._pins.can_read(arguments[0]):
            raise Refusal(frame.BAD_PIN, "that pin cannot be read")
        answer[_AT] = self._pins.read(arguments[0])
        return 1

    def _adc_read(self, arguments, answer):
        _need(arguments, 1)
        if not self._pins.can_measure(arguments[0]):
            raise Refusal(frame.BAD_PIN, "that pin cannot measure")
        struct.pack_into("<H", answer, _AT, self._pins.millivolts(arguments[0]))
        return 2

    def _mcu_temperature(self, _arguments, answer):
        struct.pack_into("<h", answer, _AT, self._thermometer.tenths())
        return 2


def _unknown(_arguments, _answer):
    raise Refusal(frame.NOT_SUPPORTED, "this board has no such method")


def _need(arguments, count):
    # More than needed is a newer Pi's business: ignored
    if len(arguments) < count:
        raise Refusal(frame.BAD_REQUEST, "arguments missing")


def _write_text(answer, text):
    data = text.encode()[:_TEXT_LIMIT_BYTES]
    answer[_AT : _AT + len(data)] = data
    return len(data)
