import pytest

from agent.hardware.alarm import HOUR_S, Alarm
from agent.link.events import BoardEvent, EventCondition
from agent.link.settings import WatchSettings
from agent.messages import Provenance


def event(value: float | str, unit: str = "V") -> BoardEvent:
    return BoardEvent("a0", value, unit, 0.0, 0.0, 1, 0)


def alarm(**wanted: object) -> Alarm:
    return Alarm("dry", WatchSettings(pin="a0", **wanted), Provenance.OWNER)  # type: ignore[arg-type]  # whatever a test wants


@pytest.mark.parametrize(
    ("wanted", "values", "told"),
    [
        ({"below": 1.0}, [1.5, 0.9, 0.8, 1.2, 0.7], [0.9, 0.7]),
        ({"above": 1.0}, [0.5, 1.0, 1.1, 0.9, 2.0], [1.0, 2.0]),
        ({"below": 1.0}, [0.9], [0.9]),
        ({"becomes": "on"}, ["on", "off", "on"], ["on", "on"]),
        ({}, ["on", "off"], ["on", "off"]),
        ({"above": 1.0}, ["on"], []),
    ],
)
def test_only_what_passes_the_limit_is_told(
    wanted: dict[str, object], values: list[float | str], told: list[float | str]
) -> None:
    watching = alarm(**wanted)
    assert [value for value in values if watching.takes(event(value), 0.0)] == told


def test_the_board_is_asked_with_a_margin_on_the_good_side() -> None:
    below = alarm(below=1.0).watch
    assert (below.when, below.low, below.high) == (EventCondition.THRESHOLD, 1.0, 1.02)
    above = alarm(above=-2.0).watch
    assert (above.low, above.high) == (-2.04, -2.0)
    assert alarm(becomes="on").watch.when is EventCondition.CHANGE


def test_no_more_than_so_often_in_an_hour_and_the_rest_is_owned_up_to() -> None:
    watching = alarm(at_most_per_hour=2)
    taken = [watching.takes(event("on", ""), at_s) for at_s in (0.0, 1.0, 2.0, 3.0)]
    assert taken == [True, True, False, False]
    assert watching.takes(event("on", ""), HOUR_S)
    assert watching.sentence(event("on", "")) == (
        "dry: a0 is on. (2 times more since I last told you.)"
    )
    assert watching.sentence(event("on", "")) == "dry: a0 is on."


def test_the_words_hold_the_value() -> None:
    watching = alarm(say="Dry: {value}, {odd}!")
    assert watching.sentence(event(0.75)) == "Dry: 0.75 V, {odd}!"


def test_an_instruction_is_never_a_command() -> None:
    assert alarm(ask="/estop at {value}").instruction(event(0.75)).text == "estop at 0.75 V"


@pytest.mark.parametrize(
    ("wanted", "values", "raised"),
    [
        ({"below": 1.0}, [1.5, 0.9, 1.2], [False, True, False]),
        ({"becomes": "on"}, ["off", "on", "off"], [False, True, False]),
        ({}, ["on", "off"], [None, None]),
        ({"above": 1.0}, ["on"], [None]),
    ],
)
def test_its_condition_holds_or_not_whatever_is_told(
    wanted: dict[str, object], values: list[float | str], raised: list[bool | None]
) -> None:
    watching = alarm(at_most_per_hour=1, **wanted)
    assert watching.is_raised is None
    seen = [(watching.takes(event(value), 0.0), watching.is_raised)[1] for value in values]
    assert seen == raised
    assert watching.has_condition is (wanted != {})
