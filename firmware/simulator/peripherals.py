# Stands in for the parts of MicroPython's machine module that drive devices: PWM, buses, a UART,
# and the functions with exact timing. What hangs on a pin answers; see things.py.

import interrupts
import things
import world

_NO_DEVICE = 19
_TIMED_OUT = 110
_U16_FULL = 65535
_NS_IN_S = 1_000_000_000


class PWM:
    # May be set from an interrupt, as the real one.

    def __init__(self, pin, *, freq=1000, duty_u16=None, duty_ns=0, invert=False):
        self._name = pin.name
        things.wake("pin", pin.name)
        self._hz = freq
        self._duty_ns = 0
        # Told by a share of the time, not by the length of a pulse
        self._is_share = duty_u16 is not None
        if duty_u16 is not None:
            self.duty_u16(duty_u16)
        else:
            self.duty_ns(duty_ns)

    def freq(self, value=None):
        if value is None:
            return self._hz
        with interrupts.step:
            # The share of the time stays
            share = self.duty_u16()
            self._hz = value
            self._change_u16(share)
        return None

    def duty_u16(self, value=None):
        if value is None:
            return round(self._duty_ns * self._hz * _U16_FULL / _NS_IN_S)
        with interrupts.step:
            self._change_u16(value)
        return None

    def duty_ns(self, value=None):
        if value is None:
            return self._duty_ns
        with interrupts.step:
            self._change(value)
        return None

    def deinit(self):
        self.duty_ns(0)

    def _change_u16(self, duty):
        self._change(duty * _NS_IN_S // (_U16_FULL * self._hz))

    def _change(self, duty_ns):
        self._duty_ns = duty_ns
        world.record_pwm(self._name, self._hz, duty_ns * self._hz / _NS_IN_S, self._is_share)
        servo = things.at(self._name, "pulse")
        if servo:
            servo.pulse(duty_ns / 1000)


class SoftI2C:
    def __init__(self, scl, sda, *, freq=400_000, timeout=50_000):
        self._pin = scl.name
        things.open_bus(scl.name, sda.name)

    def scan(self):
        return [address for address in range(8, 120) if things.on_bus(self._pin, address)]

    def writeto(self, address, data):
        device = self._device(address)
        # One that takes no more acknowledges no more
        taken = min(len(data), getattr(device, "takes_bytes", len(data)))
        device.write(bytes(data[:taken]))
        return taken

    def readfrom_into(self, address, buffer):
        buffer[:] = self._device(address).read(len(buffer))

    def readfrom_mem(self, address, register, count):
        device = self._device(address)
        device.write(bytes([register]))
        return device.read(count)

    def readfrom_mem_into(self, address, register, buffer):
        buffer[:] = self.readfrom_mem(address, register, len(buffer))

    def writeto_mem(self, address, register, data):
        self._device(address).write(bytes([register]) + bytes(data))

    def _device(self, address):
        if things.is_held(self._pin):
            raise OSError(_TIMED_OUT)
        if things.is_data_held(self._pin):
            return _Zeros
        device = things.on_bus(self._pin, address)
        if device is None:
            raise OSError(_NO_DEVICE)
        return device


class _Zeros:
    # What a data line that stays low looks like: an answer to everything.

    @staticmethod
    def write(data):
        pass

    @staticmethod
    def read(count):
        return bytes(count)


class SoftSPI:
    # The wires do not tell who is meant: whoever's select line is low answers.

    def __init__(self, baudrate=500_000, *, polarity=0, phase=0, sck, mosi, miso):
        self._wires = (sck.name, mosi.name, miso.name)

    def write_readinto(self, sent, received):
        thing = world.selected()
        received[:] = thing.transfer(bytes(sent)) if thing else b"\xff" * len(sent)


class BridgeUART:
    # Any UART but that of the link.

    def __init__(self, number, buffer_bytes):
        self._number = number
        things.wake("uart", number)
        self._limit = buffer_bytes

    def any(self):
        thing = things.at(self._number, "waiting")
        return min(self._limit, thing.waiting()) if thing else 0

    def read(self, limit):
        thing = things.at(self._number, "say")
        return thing.say(limit) if thing else None

    def readinto(self, buffer, limit=None):
        data = self.read(len(buffer) if limit is None else min(limit, len(buffer)))
        if not data:
            return None
        buffer[: len(data)] = data
        return len(data)

    def deinit(self):
        self._limit = 0

    def write(self, data):
        thing = things.at(self._number, "hear")
        if thing:
            thing.hear(bytes(data))
        return len(data)


def bitstream(pin, _encoding, _timing, data):
    # A function of its own: one with a comprehension takes memory as soon as it is called
    with interrupts.step:
        _show(pin.name, data)


def _show(name, data):
    colours = [[data[at + 1], data[at], data[at + 2]] for at in range(0, len(data), 3)]
    world.record_pixels(name, colours)


def time_pulse_us(pin, _level, limit_us=1_000_000):
    # -1: the pulse did not end in time; -2: it did not begin
    thing = things.at(pin.name, "pulse_us")
    return thing.pulse_us(limit_us) if thing else -2
