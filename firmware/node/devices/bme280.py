# A BME280: temperature, humidity and pressure over I2C.
#
# The sensor measures by itself twice a second; reading takes 1 ms. The formulas are the integer
# ones of its data sheet (BST-BME280-DS002, 4.2.3); "t_fine" is the data sheet's name.

import struct
from time import ticks_diff, ticks_ms

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.i2c import open_bus, require_free

CLIMATE_READ = 26

_CHIP_ID = const(0x60)
_AT_CHIP_ID = const(0xD0)
_AT_CALIBRATION = const(0x88)
_CALIBRATION_BYTES = const(26)
_AT_CALIBRATION_2 = const(0xE1)
_CALIBRATION_2_BYTES = const(7)
_AT_DATA = const(0xF7)
_DATA_BYTES = const(8)
# It has nothing new before; whoever asks more often gets the same answer
_FRESH_MS = const(250)
# What the registers hold before the first measurement
_SKIPPED = const(0x80000)
# Humidity once; rest 500 ms, no filter; temperature and pressure once, again and again.
# Humidity counts only from the next write to the last one.
_SETTINGS = ((0xF2, b"\x01"), (0xF5, b"\x80"), (0xF4, b"\x27"))


class Bme280:
    def __init__(self, entry):
        self._address = entry["address"]
        self._bus = open_bus(entry)
        self._sda = entry["sda"]
        self._temperature = None
        self._result = None
        self._measured_ms = ticks_ms()

    def value(self, part=0):
        return self._measured()[part] if part < 3 else None

    def handlers(self):
        return {CLIMATE_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<hHI", answer, AT, *self._measured())
        return 8

    def _measured(self):
        # Hundredths of a degree, hundredths of a percent, pascals
        now_ms = ticks_ms()
        is_fresh = 0 <= ticks_diff(now_ms, self._measured_ms) < _FRESH_MS
        if self._result is None or not is_fresh:
            self._result = None
            self._result = self._measure()
            self._measured_ms = now_ms
        return self._result

    def _measure(self):
        try:
            if self._temperature is None:
                self._set_up()
            data = self._bus.readfrom_mem(self._address, _AT_DATA, _DATA_BYTES)
            require_free(self._sda)
        except OSError:
            # It may have lost its power, and its settings with it
            self._temperature = None
            text = "no BME280 answers at address %d" % self._address
            raise Refusal(frame.IO, text)  # noqa: B904  - no chaining on the board
        raw_pressure = data[0] << 12 | data[1] << 4 | data[2] >> 4
        raw_temperature = data[3] << 12 | data[4] << 4 | data[5] >> 4
        if raw_temperature == _SKIPPED:
            if not self._bus.readfrom_mem(self._address, 0xF4, 1)[0] & 3:
                # Asleep as after power-on: the settings are gone
                self._temperature = None
            raise Refusal(frame.BUSY_CODE, "the first measurement is under way")
        t_fine = fine_temperature(raw_temperature, self._temperature)
        return (
            (t_fine * 5 + 128) >> 8,
            relative_humidity(data[6] << 8 | data[7], t_fine, self._humidity),
            pressure(raw_pressure, t_fine, self._pressure),
        )

    def _set_up(self):
        bus, address = self._bus, self._address
        if bus.readfrom_mem(address, _AT_CHIP_ID, 1)[0] != _CHIP_ID:
            raise Refusal(frame.IO, "what answers at address %d is no BME280" % address)
        first = bus.readfrom_mem(address, _AT_CALIBRATION, _CALIBRATION_BYTES)
        second = bus.readfrom_mem(address, _AT_CALIBRATION_2, _CALIBRATION_2_BYTES)
        for register, value in _SETTINGS:
            bus.writeto_mem(address, register, value)
        self._pressure = struct.unpack_from("<Hhhhhhhhh", first, 6)
        h2, h3, middle, low, high, h6 = struct.unpack("<hBbBbb", second)
        h4 = middle << 4 | low & 0x0F
        h5 = high << 4 | low >> 4
        self._humidity = (first[25], h2, h3, h4, h5, h6)
        # Last: it says that all the others are there
        self._temperature = struct.unpack_from("<Hhh", first, 0)


def fine_temperature(raw, calibration):
    t1, t2, t3 = calibration
    from_t1 = (raw >> 4) - t1
    return (((raw >> 3) - (t1 << 1)) * t2 >> 11) + ((from_t1 * from_t1 >> 12) * t3 >> 14)


def relative_humidity(raw, t_fine, calibration):
    # In hundredths of a percent
    h1, h2, h3, h4, h5, h6 = calibration
    x = t_fine - 76800
    wet = ((raw << 14) - (h4 << 20) - h5 * x + 16384) >> 15
    dry = (((x * h6 >> 10) * ((x * h3 >> 11) + 32768) >> 10) + 2097152) * h2 + 8192 >> 14
    y = wet * dry
    y -= ((y >> 15) * (y >> 15) >> 7) * h1 >> 4
    # 1024ths of a percent, from 0 to 100 %
    return (max(0, min(419430400, y)) >> 12) * 100 + 512 >> 10


def pressure(raw, t_fine, calibration):
    # In pascals
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = calibration
    x = t_fine - 128000
    b = x * x * p6 + (x * p5 << 17) + (p4 << 35)
    a = (x * x * p3 >> 8) + (x * p2 << 12)
    a = ((1 << 47) + a) * p1 >> 33
    if a == 0:
        return 0
    p = (((1048576 - raw) << 31) - b) * 3125 // a
    c = p9 * (p >> 13) * (p >> 13) >> 25
    d = p8 * p >> 19
    # 256ths of a pascal
    return ((p + c + d >> 8) + (p7 << 4)) + 128 >> 8
