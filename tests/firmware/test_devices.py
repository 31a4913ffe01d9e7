"""What no device takes, from a call or from a configuration, and what all of them cost."""

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import (
    CELSIUS_READ,
    COUNTER_READ,
    ENTRIES,
    I2C_WRITE,
    INDEX,
    PIXELS_WRITE,
    PWM_WRITE,
    SERVO_WRITE,
    SPI_TRANSFER,
    UART_WRITE,
    configure,
    refusal,
)


@pytest.mark.parametrize(
    ("method", "name", "arguments", "code"),
    [
        (I2C_WRITE, "bus", b"\x50\x00", codec.OUT_OF_RANGE),
        (I2C_WRITE, "bus", b"\x50\x21" + bytes(33), codec.OUT_OF_RANGE),
        (I2C_WRITE, "bus", b"\x50\x04abc", codec.BAD_REQUEST),
        (I2C_WRITE, "bus", b"\x51\x01a", codec.IO),
        (SPI_TRANSFER, "shift", b"\x00", codec.OUT_OF_RANGE),
        (SPI_TRANSFER, "shift", b"\x21" + bytes(33), codec.OUT_OF_RANGE),
        (SPI_TRANSFER, "shift", b"\x02a", codec.BAD_REQUEST),
        (UART_WRITE, "gps", b"\x00", codec.OUT_OF_RANGE),
        (UART_WRITE, "gps", b"\x81" + bytes(129), codec.OUT_OF_RANGE),
        (PIXELS_WRITE, "ring", b"\x00\x09\x00\x00\x00", codec.OUT_OF_RANGE),
        (PIXELS_WRITE, "ring", b"\x08\x01\x00\x00\x00", codec.OUT_OF_RANGE),
        (PIXELS_WRITE, "ring", b"\x00\x00\x00\x00\x00", codec.OUT_OF_RANGE),
        (PIXELS_WRITE, "ring", b"\x00\x01\xc9\x00\x00", codec.OUT_OF_RANGE),
        (PIXELS_WRITE, "ring", b"\x00\x01", codec.BAD_REQUEST),
        (SERVO_WRITE, "arm", b"\xfe\xff", codec.OUT_OF_RANGE),
        (SERVO_WRITE, "arm", b"\x00", codec.BAD_REQUEST),
        (PWM_WRITE, "fan", b"\x00", codec.BAD_REQUEST),
        (PWM_WRITE, "ring", bytes(4), codec.BAD_PIN),
        (CELSIUS_READ, "room", b"", codec.BAD_PIN),
        (COUNTER_READ, "pump", b"", codec.BAD_PIN),
    ],
)
def test_what_a_device_cannot_do_is_refused(
    bench: Wire, method: int, name: str, arguments: bytes, code: int
) -> None:
    assert refusal(bench, method, name, arguments)[0] == code


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "pwm", "pin": "PA8", "frequency": 20_001}, "frequency is a whole number"),
        ({"kind": "pwm", "pin": "PA8", "safe": 101}, "safe is a whole number, 0 to 100"),
        ({"kind": "pwm", "pin": "PA8", "frequency": "fast"}, "frequency is a whole number"),
        ({"kind": "pwm", "pin": "PA8", "max_on": 5}, "unknown option max_on"),
        ({"kind": "ds18b20", "pin": "PB12", "lease_ms": 100}, "unknown option lease_ms"),
        ({"kind": "neopixel", "pin": "PB15", "safe": 1}, "safe is a whole number, 0 to 0"),
        ({"kind": "servo", "pin": "PA6", "most_us": 2601}, "most_us is a whole number"),
        ({"kind": "servo", "pin": "PA6", "least_us": 2000, "most_us": 2100}, "larger than"),
        ({"kind": "servo", "pin": "PA6", "degrees": 90, "safe": 91}, "safe is a whole number"),
        ({"kind": "encoder", "pin": "PB4"}, "pin_b names a pin"),
        ({"kind": "counter", "pin": "PB3", "debounce_us": -1}, "debounce_us is a whole number"),
        ({"kind": "bme280", "pin": "PB6", "sda": "PB7", "address": 80}, "address is a whole"),
        ({"kind": "i2c", "pin": "PB6"}, "sda names a pin"),
        ({"kind": "i2c", "pin": "PB6", "sda": "PB7", "frequency": 1}, "frequency is a whole"),
        ({"kind": "spi", "pin": "PA4", "sck": "PA5"}, "names a pin"),
        ({"kind": "uart", "pin": "PA9", "baud": 1}, "baud is a whole number"),
        ({"kind": "neopixel", "pin": "PB15", "count": 65}, "count is a whole number, 1 to 64"),
    ],
)
def test_options_that_no_device_can_have_are_refused_by_name(
    wire: Wire, entry: dict[str, object], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{"name": "thing", **entry}])
    assert refused.value.code == codec.OUT_OF_RANGE
    assert refused.value.text.startswith("thing: ")
    assert said in refused.value.text


@pytest.mark.usefixtures("bench")
def test_all_devices_of_a_board_together_leave_it_room_to_work(bench_board: BoardSim) -> None:
    assert len(ENTRIES) == len(INDEX) - 7
    assert bench_board.order({"get": True})["heap_free"] > 40_000
