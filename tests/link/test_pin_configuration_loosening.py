import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link.configuration import PinEntry, read_entries, wire_of
from agent.link.pin_configuration import loosened
from agent.link.pin_settings import PinSettings

PUMP = PinEntry(
    "pump",
    "output",
    "PB0",
    lease_ms=1000,
    max_on_ms=10_000,
    min_off_ms=5_000,
    per_minute=4,
    needs=(("level_ok", 1),),
    safety="hazard",
)


def changed(**to: object) -> tuple[str, ...]:
    return loosened([PUMP], [msgspec.structs.replace(PUMP, **to)])


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ({"lease_ms": 2000}, "pump stays on for 2000 ms without a sign of life instead of 1000 ms"),
        ({"max_on_ms": 20_000}, "pump may be on at most 20000 ms instead of at most 10000 ms"),
        ({"max_on_ms": 0}, "pump may be on without limit instead of at most 10000 ms"),
        ({"min_off_ms": 0}, "pump rests 0 ms instead of 5000 ms"),
        ({"per_minute": 5}, "pump may be switched 5 times a minute instead of 4"),
        ({"per_minute": 0}, "pump may be switched any number of times a minute instead of 4"),
        ({"needs": ()}, "pump no longer requires level_ok to be on"),
        ({"needs": (("level_ok", 0),)}, "pump no longer requires level_ok to be on"),
        ({"safety": "actuate"}, "pump is no longer a hazard"),
        ({"safe": 1}, "pump has another safe value (1 instead of 0)"),
        ({"active_low": True}, "pump is on at low level"),
        ({"pin": "PB1"}, "pump moves from PB0 to PB1"),
        ({"kind": "pwm"}, "pump changes from output to pwm"),
        ({"name": "fan"}, "pump is no longer configured"),
    ],
)
def test_what_is_looser_is_told(to: dict[str, object], words: str) -> None:
    assert changed(**to) == (words,)


@pytest.mark.parametrize(
    "to",
    [
        {},
        {"lease_ms": 500},
        {"max_on_ms": 1},
        {"min_off_ms": 60_000},
        {"per_minute": 1},
        {"needs": (("door", 0), ("level_ok", 1))},
    ],
)
def test_what_is_tighter_is_nobodys_question(to: dict[str, object]) -> None:
    assert changed(**to) == ()


def test_a_new_pin_is_nobodys_question() -> None:
    assert loosened([PUMP], [PUMP, PinEntry("fan", "output", "PB5")]) == ()
    assert loosened([], [PUMP]) == ()


def test_inputs_have_nothing_to_loosen() -> None:
    old = PinEntry("key", "input", "PA0")
    assert loosened([old], [PinEntry("key", "input", "PA1", active_low=True)]) == ()
    assert loosened([PUMP], [PinEntry("pump", "input", "PB0")]) == (
        "pump changes from output to input",
    )


def wired(name: str, **settings: object) -> PinEntry:
    (entry,) = read_entries(wire_of({name: PinSettings(**settings)}))
    return entry


PINS = {"pin": "PA8", "direction": "PA9", "enable": "PA10"}
SLIDE = wired("slide", kind="stepper", **PINS, low_stop="PB8", high_stop="PB9")
LAMP = wired("lamp", kind="pca9685", pin="PB6", sda="PB7", oe="PB5")


@pytest.mark.parametrize(
    ("entry", "to", "words"),
    [
        (SLIDE, {"low_stop": "PB4"}, "slide has low_stop at PB4 instead of PB8"),
        (SLIDE, {"high_stop": ""}, "slide has high_stop at no pin instead of PB9"),
        (SLIDE, {"enable": "PA11"}, "slide has enable at PA11 instead of PA10"),
        (SLIDE, {"stops_close": 1}, "slide has stops_close = 1 instead of 0"),
        (SLIDE, {"enable_high": 1}, "slide has enable_high = 1 instead of 0"),
        (LAMP, {"oe": "PB4"}, "lamp has oe at PB4 instead of PB5"),
        (LAMP, {"channel": 3}, "lamp has channel = 3 instead of 0"),
        (LAMP, {"address": 0x41}, "lamp has address = 65 instead of 64"),
    ],
)
def test_another_wire_of_an_output_is_told(
    entry: PinEntry, to: dict[str, object], words: str
) -> None:
    assert loosened([entry], [msgspec.structs.replace(entry, **to)]) == (words,)


def test_a_wire_more_and_a_default_that_is_written_are_nobodys_question() -> None:
    free = msgspec.structs.replace(SLIDE, low_stop="", high_stop="")
    assert loosened([free], [SLIDE]) == ()
    assert loosened([LAMP], [msgspec.structs.replace(LAMP, channel=0, address=0x40)]) == ()


@pytest.mark.parametrize("kind", ["thermostat", "pid"])
def test_a_shorter_rest_is_told_and_a_longer_one_is_not(kind: str) -> None:
    fridge = wired("fridge", kind=kind, pin="PA8", sensor="probe", rest_s=300)
    other = wired("fridge", kind=kind, pin="PA8", sensor="probe", rest_s=60)
    usual = wired("fridge", kind=kind, pin="PA8", sensor="probe")
    default = 10 if kind == "thermostat" else 0
    assert loosened([fridge], [other]) == ("fridge has rest_s = 60 instead of 300",)
    assert loosened([fridge], [usual]) == (f"fridge has rest_s = {default} instead of 300",)
    assert loosened([other], [fridge]) == loosened([usual], [other]) == ()


LEVEL = PinEntry("level_ok", "input", "PB5")
PROBE = wired("probe", kind="mcp23017in", pin="PB6", sda="PB7", reset="PB3", channel=2)
HEATER = wired("heater", kind="thermostat", pin="PA8", sensor="room")
ROOM = PinEntry("room", "ds18b20", "PB12")


@pytest.mark.parametrize(
    ("entries", "to", "words"),
    [
        # A tank that is empty would be full
        ((LEVEL, PUMP), {"active_low": True}, "level_ok is on at low level"),
        ((LEVEL, PUMP), {"pin": "PB4"}, "level_ok moves from PB5 to PB4"),
        (
            (PROBE, msgspec.structs.replace(PUMP, needs=(("probe", 0),))),
            {"channel": 3},
            "probe has channel = 3 instead of 2",
        ),
        ((ROOM, HEATER), {"pin": "PB13"}, "room moves from PB12 to PB13"),
    ],
)
def test_another_wire_of_what_an_output_goes_by_is_told(
    entries: tuple[PinEntry, PinEntry], to: dict[str, object], words: str
) -> None:
    read, output = entries
    moved = msgspec.structs.replace(read, **to)
    assert loosened(entries, (moved, output)) == (words,)
    # Where nothing goes by it, it is nobody's question
    assert loosened((read,), (moved,)) == ()


def test_a_name_that_a_board_made_up_is_cleaned() -> None:
    (words,) = loosened([PinEntry("\x1b[31m" + "x" * 99, "output", "PB0")], [])
    assert "\x1b" not in words
    assert len(words) < 80


LIMIT = st.integers(0, 3)


@given(LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, LIMIT)
def test_there_and_back_is_never_tighter_both_ways(
    on: int, off: int, rate: int, other_on: int, other_off: int, other_rate: int
) -> None:
    one = msgspec.structs.replace(PUMP, max_on_ms=on, min_off_ms=off, per_minute=rate)
    other = msgspec.structs.replace(
        PUMP, max_on_ms=other_on, min_off_ms=other_off, per_minute=other_rate
    )
    assert (one == other) == (not loosened([one], [other]) and not loosened([other], [one]))
