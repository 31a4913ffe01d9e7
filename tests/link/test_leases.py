import asyncio

import pytest

from agent.link.base import Value
from agent.link.leases import MIN_LEASE_MS, Leases, is_at_rest, renewal_interval_s
from agent.link.manifest import BoardPin, Field, Manifest, Method


def outputs(*lease_ms: int) -> Manifest:
    pins = [BoardPin(n, f"p{n}", "", can=("out",), lease_ms=ms) for n, ms in enumerate(lease_ms)]
    inputs = (BoardPin(31, "button", "", can=("in",), lease_ms=1),)
    return Manifest(1, "test", pins=(*pins, *inputs))


async def test_renewing_waits_until_something_is_held() -> None:
    leases = Leases()
    waiting = asyncio.create_task(leases.until_held())
    await asyncio.sleep(0)
    assert not waiting.done()
    leases.hold(0b1)
    await waiting
    leases.drop_all()
    assert leases.held == 0
    waiting = asyncio.create_task(leases.until_held())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


def test_what_is_granted_stays_held() -> None:
    leases = Leases()
    leases.hold(0b01)
    leases.hold(0b10)
    assert leases.renewed(asked=0b11, granted=0b11) == 0
    assert leases.held == 0b11


def test_what_the_board_let_go_of_is_never_renewed_again() -> None:
    leases = Leases()
    leases.hold(0b11)
    assert leases.renewed(asked=0b11, granted=0b01) == 0b10
    assert leases.held == 0b01


def test_what_was_taken_while_the_board_was_asked_stays_held() -> None:
    leases = Leases()
    leases.hold(0b01)
    leases.hold(0b10)
    assert leases.renewed(asked=0b01, granted=0b01) == 0
    assert leases.held == 0b11


def test_leases_of_others_are_not_ours() -> None:
    leases = Leases()
    leases.hold(0b01)
    leases.renewed(asked=0b01, granted=0b111)
    assert leases.held == 0b01


def test_the_shortest_lease_sets_the_pace() -> None:
    assert renewal_interval_s(outputs(2000, 800), lease_ms=10_000) == 0.2
    assert renewal_interval_s(outputs(8000), lease_ms=2000) == 0.5
    assert renewal_interval_s(outputs(), lease_ms=1000) == 0.25


def test_a_board_cannot_ask_for_a_storm_of_renewals() -> None:
    assert renewal_interval_s(outputs(0), lease_ms=2000) == MIN_LEASE_MS / 4000
    assert renewal_interval_s(outputs(-5), lease_ms=2000) > 0


def test_what_was_put_down_is_not_held_any_more() -> None:
    told: list[bool] = []
    leases = Leases(told.append)
    leases.hold(0b11)
    leases.drop(0b01)
    assert leases.held == 0b10
    leases.drop(0b10)
    assert told == [True, True, False]


def writes(capability: str, *fields: Field) -> Method:
    pin = Field("pin", "B", pins=capability)
    return Method(16, "write", "", (pin, *fields), safety="actuate", lease=True)


SWITCH = writes("out", Field("value", "B", choices=("off", "on")))
FAN = writes("pwm", Field("frequency", "H"), Field("duty", "H", scale=0.1, unit="%"))
ARM = writes("servo", Field("angle", "h"))
STRIP = writes("pixels", Field("red", "B"))


@pytest.mark.parametrize(
    ("method", "safe", "arguments", "result", "rests"),
    [
        (SWITCH, 0, {"value": "off"}, {}, True),
        (SWITCH, 0, {"value": "on"}, {}, False),
        (SWITCH, 1, {"value": "on"}, {}, True),
        (SWITCH, 1, {"value": "off"}, {}, False),
        (SWITCH, 7, {"value": "on"}, {}, False),
        (FAN, 0, {"frequency": 0, "duty": 0}, {}, True),
        (FAN, 0, {"frequency": 0, "duty": 12.5}, {}, False),
        (FAN, 100, {"frequency": 0, "duty": 100}, {}, True),
        (ARM, 0, {"angle": -1}, {}, True),
        (ARM, 0, {"angle": 0}, {}, False),
        (STRIP, 0, {"red": 0}, {"lit": 0}, True),
        (STRIP, 0, {"red": 0}, {"lit": 3}, False),
    ],
)
def test_a_write_of_the_safe_value_puts_the_output_down(
    method: Method,
    safe: int,
    arguments: dict[str, Value],
    result: dict[str, Value],
    rests: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_at_rest(BoardPin(0, "p", "PB0", safe=safe), method, arguments, result) is rests
