"""I2C, SPI and UART: raw bytes, within limits."""

import struct

import pytest

from agent.link import frame as codec
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import (
    I2C_READ,
    I2C_SCAN,
    I2C_WRITE,
    SPI_TRANSFER,
    UART_READ,
    UART_WRITE,
    ask,
    change,
    events,
    refusal,
)


def sent(wire: Wire, data: bytes) -> bytes:
    return ask(wire, SPI_TRANSFER, "shift", bytes([len(data)]) + data)[1:]


def test_a_scan_finds_who_is_there(bench: Wire) -> None:
    assert refusal(bench, I2C_SCAN, "bus")[0] == codec.BUSY_CODE
    bench.rest(0.3)
    assert ask(bench, I2C_SCAN, "bus") == b"\x02\x50\x76"


@pytest.mark.parametrize("held", ["holds_bus", "holds_data"])
def test_a_bus_that_something_holds_is_told_and_heals(
    bench: Wire, bench_board: BoardSim, held: str
) -> None:
    change(bench_board, "eeprom", **{held: True})
    assert refusal(bench, I2C_SCAN, "bus")[0] == codec.BUSY_CODE
    bench.rest(0.2)
    assert refusal(bench, I2C_SCAN, "bus") == (codec.IO, "something holds the bus")
    change(bench_board, "eeprom", **{held: False})
    assert refusal(bench, I2C_SCAN, "bus")[0] == codec.BUSY_CODE
    bench.rest(0.3)
    assert ask(bench, I2C_SCAN, "bus") == b"\x02\x50\x76"


def test_a_data_line_that_is_held_low_reads_and_takes_nothing(
    bench: Wire, bench_board: BoardSim
) -> None:
    change(bench_board, "eeprom", holds_data=True)
    silent = (codec.IO, "no device answers at address 80")
    try:
        assert refusal(bench, I2C_READ, "bus", struct.pack("<BhB", 0x50, 0x10, 3)) == silent
        assert refusal(bench, I2C_WRITE, "bus", b"\x50\x04\x10abc") == silent
    finally:
        change(bench_board, "eeprom", holds_data=False)


def test_what_is_written_over_i2c_is_read_back(bench: Wire) -> None:
    assert ask(bench, I2C_WRITE, "bus", b"\x50\x04\x10abc") == b"\x04"
    assert ask(bench, I2C_READ, "bus", struct.pack("<BhB", 0x50, 0x10, 3)) == b"\x03abc"
    ask(bench, I2C_WRITE, "bus", b"\x50\x01\x11")
    assert ask(bench, I2C_READ, "bus", struct.pack("<BhB", 0x50, -1, 2)) == b"\x02bc"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (struct.pack("<BhB", 0x07, 0, 1), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x78, 0, 1), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x50, 256, 1), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x50, -2, 1), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x50, 0, 0), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x50, 0, 33), codec.OUT_OF_RANGE),
        (struct.pack("<BhB", 0x51, 0, 1), codec.IO),
        (b"\x50", codec.BAD_REQUEST),
    ],
)
def test_reading_i2c_has_limits(bench: Wire, arguments: bytes, code: int) -> None:
    assert refusal(bench, I2C_READ, "bus", arguments)[0] == code


def test_spi_sends_and_receives_at_once(bench: Wire) -> None:
    sent(bench, b"\x00")
    assert sent(bench, b"abc") == b"\x00ab"
    assert sent(bench, b"de") == b"cd"


def test_a_uart_carries_words_both_ways(bench: Wire, bench_board: BoardSim) -> None:
    assert ask(bench, UART_WRITE, "gps", b"\x02?\n") == b"\x02"
    bench.rest(0.1)
    lost, count = struct.unpack_from("<IB", ask(bench, UART_READ, "gps"))
    assert (lost, count) == (0, 7)
    assert "".join(str(one["text"]) for one in events(bench_board, "uart", "serial")) == "?\n"
    assert ask(bench, UART_READ, "gps") == bytes(5)


def test_a_uart_that_nobody_reads_loses_what_is_too_much_and_says_so(
    bench: Wire, bench_board: BoardSim
) -> None:
    change(bench_board, "serial", says="x" * 300)
    bench.rest(0.2)
    first = ask(bench, UART_READ, "gps")
    rest = ask(bench, UART_READ, "gps")
    assert struct.unpack_from("<IB", first) == (44, 128)
    assert struct.unpack_from("<IB", rest) == (0, 128)
    assert ask(bench, UART_READ, "gps") == bytes(5)


def test_a_uart_that_is_still_sending_takes_no_more(bench: Wire) -> None:
    for _ in range(2):
        ask(bench, UART_WRITE, "gps", b"\x80" + bytes(128))
    assert refusal(bench, UART_WRITE, "gps", b"\x80" + bytes(128))[0] == codec.BUSY_CODE
    bench.rest(1.2)
    assert refusal(bench, UART_WRITE, "gps", b"\x01a")[0] == codec.OK


def test_what_a_uart_has_not_sent_goes_nowhere_after_an_emergency_stop(
    bench: Wire, bench_board: BoardSim
) -> None:
    def heard() -> str:
        return "".join(str(one["text"]) for one in events(bench_board, "uart", "serial"))

    ask(bench, UART_WRITE, "gps", b"\x80" + b"s" * 128)
    bench.send(codec.ESTOP)
    bench.rest(0.1)
    sent = heard().count("s")
    # Not kept for later either
    bench.clear()
    bench.rest(0.6)
    assert heard().count("s") == sent < 128
