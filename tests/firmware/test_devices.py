"""Every device behind the board: its driver in the real interpreter, and a part that behaves."""

import math
import struct
from collections.abc import Iterator

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import ENTRIES, INDEX, ask, configure, measured, refusal, until
from tests.firmware.conftest import simulated
from tests.firmware.methods import GPIO_WRITE, ON

PWM_WRITE = 20
SERVO_WRITE = 21
COUNTER_READ = 22
COUNTER_RESET = 23
ENCODER_READ = 24
CELSIUS_READ = 25
CLIMATE_READ = 26
PIXELS_WRITE = 27
I2C_SCAN = 28
I2C_READ = 29
I2C_WRITE = 30
SPI_TRANSFER = 31
UART_WRITE = 32
UART_READ = 33
SUPPLY_READ = 34
RELEASED = -1


@pytest.fixture(scope="module")
def bench_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardSim]:
    with simulated(tmp_path_factory.mktemp("bench")) as started:
        with Wire(str(started.port)) as wire:
            wire.greet()
            configure(wire)
        yield started


@pytest.fixture
def bench(bench_board: BoardSim) -> Iterator[Wire]:
    with Wire(str(bench_board.port)) as wire:
        wire.greet()
        yield wire


def events(board: BoardSim, kind: str, name: str) -> list[dict[str, object]]:
    return [one for one in board.record() if one["event"] == kind and one["name"] == name]


def change(board: BoardSim, name: str, **changes: object) -> None:
    assert board.order({"devices": {name: changes}}) == {"ok": True}


def pwm(wire: Wire, hz: int, duty: int) -> tuple[int, ...]:
    return struct.unpack("<HH", ask(wire, PWM_WRITE, "fan", struct.pack("<HH", hz, duty)))


def turn(wire: Wire, name: str, angle: int) -> int:
    (told,) = struct.unpack("<h", ask(wire, SERVO_WRITE, name, struct.pack("<h", angle)))
    return int(told)


def paint(wire: Wire, *given: int) -> int:
    return ask(wire, PIXELS_WRITE, "ring", bytes(given))[0]


def counted(wire: Wire, name: str = "flow") -> int:
    return int(struct.unpack("<II", ask(wire, COUNTER_READ, name))[0])


def sent(wire: Wire, data: bytes) -> bytes:
    return ask(wire, SPI_TRANSFER, "shift", bytes([len(data)]) + data)[1:]


def test_a_duty_and_a_frequency_reach_the_pin_and_are_read_back(
    bench: Wire, bench_board: BoardSim
) -> None:
    assert pwm(bench, 2000, 505) == (2000, 505)
    seen = events(bench_board, "pwm", "fan")[-1]
    assert (seen["hz"], seen["duty"]) == (2000, 50.5)
    assert pwm(bench, 0, 1000) == (2000, 1000)


def test_a_duty_goes_back_to_its_safe_one_when_the_lease_ends(
    bench: Wire, bench_board: BoardSim
) -> None:
    pwm(bench, 1000, 900)
    bench.rest(0.6)
    seen = events(bench_board, "pwm", "fan")[-2:]
    assert [one["duty"] for one in seen] == [90.0, 20.0]
    assert 350 <= int(str(seen[1]["ms"])) - int(str(seen[0]["ms"])) <= 450


@pytest.mark.parametrize(("hz", "duty"), [(0, 1001), (20_001, 0), (65_535, 65_535)])
def test_a_duty_or_frequency_beyond_its_limit_changes_nothing(
    bench: Wire, hz: int, duty: int
) -> None:
    pwm(bench, 1000, 300)
    code, _text = refusal(bench, PWM_WRITE, "fan", struct.pack("<HH", hz, duty))
    assert code == codec.OUT_OF_RANGE
    assert pwm(bench, 0, 300) == (1000, 300)


def test_an_emergency_stop_locks_everything_that_may_move_something(
    bench: Wire, bench_board: BoardSim
) -> None:
    pwm(bench, 1000, 900)
    turn(bench, "arm", 10)
    paint(bench, 0, 8, 9, 9, 9)
    bench.send(codec.ESTOP)
    try:
        assert refusal(bench, PWM_WRITE, "fan", bytes(4))[0] == codec.UNSAFE_STATE
        assert refusal(bench, SERVO_WRITE, "arm", bytes(2))[0] == codec.UNSAFE_STATE
        assert refusal(bench, PIXELS_WRITE, "ring", bytes([0, 1, 1, 1, 1]))[0] == codec.UNSAFE_STATE
        assert refusal(bench, I2C_WRITE, "bus", b"\x50\x01\x00")[0] == codec.UNSAFE_STATE
        assert refusal(bench, SPI_TRANSFER, "shift", b"\x01\x00")[0] == codec.UNSAFE_STATE
        assert refusal(bench, UART_WRITE, "gps", b"\x01a")[0] == codec.UNSAFE_STATE
        assert events(bench_board, "pwm", "fan")[-1]["duty"] == 20.0
        assert events(bench_board, "pwm", "arm")[-1]["duty"] == 0
        dark = events(bench_board, "pixels", "ring")[-1]
        assert dark["pixels"] == [[0, 0, 0]] * 8
    finally:
        bench.clear()


def test_a_servo_turns_at_its_own_speed(bench: Wire, bench_board: BoardSim) -> None:
    turn(bench, "arm", 0)
    before = len(events(bench_board, "servo", "servo"))
    assert turn(bench, "arm", 60) == 60
    bench.rest(0.35)
    way = events(bench_board, "servo", "servo")[before:]
    assert [one["moving"] for one in way][-2:] == [True, False]
    assert way[-1]["angle"] == pytest.approx(60, abs=0.1)


def test_a_servo_is_released_when_the_lease_ends(bench: Wire, bench_board: BoardSim) -> None:
    turn(bench, "arm", 90)
    assert events(bench_board, "pwm", "arm")[-1]["duty"] == pytest.approx(1.45 / 20 * 100, abs=0.1)
    bench.rest(0.6)
    assert events(bench_board, "pwm", "arm")[-1]["duty"] == 0


def test_a_servo_may_have_a_safe_angle_and_a_range_of_its_own(bench: Wire) -> None:
    assert turn(bench, "gate", 90) == 90
    code, text = refusal(bench, SERVO_WRITE, "gate", struct.pack("<h", 91))
    assert (code, text) == (codec.OUT_OF_RANGE, "this servo turns 0 to 90 degrees")
    assert turn(bench, "gate", RELEASED) == RELEASED


@pytest.mark.parametrize("angle", [0, 1, 33, 89, 179, 180])
def test_every_angle_is_read_back_as_it_was_written(bench: Wire, angle: int) -> None:
    assert turn(bench, "arm", angle) == angle


def test_a_flow_sensor_counts_while_its_pump_is_on(bench: Wire, bench_board: BoardSim) -> None:
    before = counted(bench)
    bench.rest(0.1)
    assert counted(bench) == before
    ask(bench, GPIO_WRITE, "pump", ON)
    bench.rest(0.5)
    assert 15 <= counted(bench) - before <= 30
    change(bench_board, "flow", blocked=True)
    stopped = counted(bench)
    bench.rest(0.1)
    assert counted(bench) == stopped
    change(bench_board, "flow", blocked=False)


def test_resetting_a_counter_tells_what_it_had(bench: Wire, bench_board: BoardSim) -> None:
    ask(bench, COUNTER_RESET, "bell")
    bench_board.set(bell=1)
    count, since_ms = struct.unpack("<II", ask(bench, COUNTER_RESET, "bell"))
    assert count == 1
    assert since_ms < 5000
    assert counted(bench, "bell") == 0
    bench_board.set(bell=0)


def test_a_contact_that_bounces_counts_once(bench: Wire, bench_board: BoardSim) -> None:
    ask(bench, COUNTER_RESET, "bell")
    bench.rest(0.05)
    assert bench_board.order({"bounce": {"bell": 1}}) == {"ok": True}
    bench.rest(0.1)
    assert counted(bench, "bell") == 1
    bench_board.set(bell=0)


def test_an_encoder_knows_its_direction(bench: Wire, bench_board: BoardSim) -> None:
    def position() -> int:
        return int(struct.unpack("<i", ask(bench, ENCODER_READ, "knob"))[0])

    def step(*levels: tuple[int, int]) -> None:
        for a, b in levels:
            bench_board.set(knob=a)
            bench_board.set(pb5=b)

    step((0, 0))
    start = position()
    forward = [(1, 0), (1, 1), (0, 1), (0, 0)]
    step(*forward)
    assert position() == start + 4
    step(*reversed(forward[:3]), (0, 0), (0, 1))
    assert position() == start - 1
    step((0, 0))


@pytest.mark.parametrize("degrees", [-10.06, 125.0])
def test_a_ds18b20_is_read_in_hundredths(
    bench: Wire, bench_board: BoardSim, degrees: float
) -> None:
    bench_board.set(water_temperature=degrees)
    # Its own steps are sixteenths
    wanted = math.floor(round(degrees * 16) * 6.25 + 0.5)
    read = until(bench, lambda: measured(bench, CELSIUS_READ, "tank", "<h"), (wanted,))
    assert read == (wanted,)


def test_a_dht22_has_temperature_and_humidity_and_no_pressure(
    bench: Wire, bench_board: BoardSim
) -> None:
    bench_board.set(air_temperature=-7.5, humidity=81.3)
    assert until(bench, lambda: measured(bench, CLIMATE_READ, "shed", "<hH"), (-750, 8130)) == (
        -750,
        8130,
    )


def test_what_arrives_with_a_wrong_checksum_is_not_believed(
    bench: Wire, bench_board: BoardSim
) -> None:
    def trouble() -> tuple[str, str]:
        return refusal(bench, CELSIUS_READ, "tank")[1], refusal(bench, CLIMATE_READ, "shed")[1]

    measured(bench, CELSIUS_READ, "tank", "<h")
    measured(bench, CLIMATE_READ, "shed", "<hH")
    change(bench_board, "ds18b20", bad_checksum=True)
    change(bench_board, "dht22", bad_checksum=True)
    # One line is disturbed more easily than the other: its last value stays for a while
    first = ("the DS18B20's checksum is wrong", "")
    assert until(bench, trouble, first) == first
    second = ("the DS18B20's checksum is wrong", "the DHT22's checksum is wrong")
    assert until(bench, trouble, second) == second
    change(bench_board, "ds18b20", bad_checksum=False, absent=True)
    change(bench_board, "dht22", bad_checksum=False)
    assert until(bench, trouble, ("no DS18B20 answers", "")) == ("no DS18B20 answers", "")
    change(bench_board, "ds18b20", absent=False)
    assert until(bench, trouble, ("", "")) == ("", "")


@pytest.mark.parametrize(
    ("celsius", "percent", "hectopascals"),
    [(-40, 0, 300), (-12.34, 33.3, 650), (0, 100, 1013.25), (24.5, 45.6, 987.6), (85, 12, 1100)],
)
def test_a_bme280_says_what_the_world_is_like(
    bench: Wire, bench_board: BoardSim, celsius: float, percent: float, hectopascals: float
) -> None:
    bench_board.set(air_temperature=celsius, humidity=percent, pressure=hectopascals)
    bench.rest(0.3)
    warm, wet, heavy = measured(bench, CLIMATE_READ, "room", "<hHI")
    assert warm == pytest.approx(celsius * 100, abs=1)
    assert wet == pytest.approx(percent * 100, abs=2)
    assert heavy == pytest.approx(hectopascals * 100, abs=3)


def test_a_bme280_that_was_pulled_out_works_when_it_is_back(
    bench: Wire, bench_board: BoardSim
) -> None:
    change(bench_board, "bme280", absent=True)
    bench.rest(0.3)
    code, text = refusal(bench, CLIMATE_READ, "room")
    assert (code, text) == (codec.IO, "no BME280 answers at address 118")
    change(bench_board, "bme280", absent=False)
    assert len(measured(bench, CLIMATE_READ, "room", "<hHI")) == 3


def test_a_scan_finds_who_is_there(bench: Wire) -> None:
    assert refusal(bench, I2C_SCAN, "bus")[0] == codec.BUSY_CODE
    bench.rest(0.3)
    assert ask(bench, I2C_SCAN, "bus") == b"\x02\x50\x76"


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


def test_pixels_are_painted_in_ranges_and_go_dark_with_their_lease(
    bench: Wire, bench_board: BoardSim
) -> None:
    assert paint(bench, 0, 8, 0, 0, 0) == 0
    assert paint(bench, 0, 2, 200, 20, 2) == 2
    assert paint(bench, 7, 1, 0, 0, 9) == 3
    shown = [[200, 20, 2]] * 2 + [[0, 0, 0]] * 5 + [[0, 0, 9]]
    assert events(bench_board, "pixels", "ring")[-1]["pixels"] == shown
    bench.call(codec.METHOD_SAFE)
    assert events(bench_board, "pixels", "ring")[-1]["pixels"] == [[0, 0, 0]] * 8
    assert paint(bench, 1, 1, 5, 5, 5) == 1


def test_a_refused_paint_is_not_shown_later(bench: Wire, bench_board: BoardSim) -> None:
    bench.send(codec.ESTOP)
    assert refusal(bench, PIXELS_WRITE, "ring", bytes([0, 1, 77, 0, 0]))[0] == codec.UNSAFE_STATE
    bench.clear()
    paint(bench, 7, 1, 1, 1, 1)
    assert events(bench_board, "pixels", "ring")[-1]["pixels"] == [[0, 0, 0]] * 7 + [[1, 1, 1]]


@pytest.mark.parametrize("volts", [2.9, 3.3])
def test_the_supply_is_measured_in_millivolts(
    bench: Wire, bench_board: BoardSim, volts: float
) -> None:
    bench_board.set(supply=volts)
    assert struct.unpack("<H", bench.call(SUPPLY_READ)) == (round(volts * 1000),)


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
