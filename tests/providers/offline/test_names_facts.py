"""Facts of pins in a schema's description."""

import pytest

from agent.providers.offline.names import Facts, facts_in
from agent.tools.choice import facts_of, told_of


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("led (blue led, lamp)", {"led": Facts(("blue led", "lamp"))}),
        ("led (; in kitchen)", {"led": Facts(places=("kitchen",))}),
        (
            "a (b; in hall; of lamps, all of them; opens off; rests on), c (d)",
            {
                "a": Facts(("b",), ("hall",), ("lamps", "all of them"), "off", "on"),
                "c": Facts(("d",)),
            },
        ),
        ("in %", {}),
        ("", {}),
    ],
)
def test_facts_are_read_from_a_description(told: str, wanted: dict[str, Facts]) -> None:
    assert facts_in(told) == wanted


def test_what_a_tool_tells_is_what_is_read() -> None:
    told = told_of("valve", ["main; (valve)"], facts_of("hall", ["water"], "off", "on"))
    assert facts_in(told) == {"valve": Facts(("main   valve",), ("hall",), ("water",), "off", "on")}
    assert facts_in(told_of("led", [], facts_of("hall"))) == {"led": Facts(places=("hall",))}
    assert told_of("led", []) == ""
