"""Lengths of orders: of one deed, of one length, and without a word for their use."""

import pytest

from tests.fakes.said import user_said
from tests.providers.offline.test_delayed_orders import answered, called, came_of


@pytest.mark.parametrize(
    "text",
    [
        "pump on for 5 minutes then relay on",
        "turn the pump on and the relay off for 5 minutes",
        "mach die Pumpe für 5 Minuten an und das Relais aus",
        "打开水泵5分钟然后打开继电器",
        "펌프 5분 켜고 릴레이 켜",
        "펌프 5분이나 10분 켜",
    ],
)
async def test_a_length_is_of_no_second_deed_and_of_no_second_length(text: str) -> None:
    response = await answered(user_said(text))
    assert not response.tool_calls
    assert not response.text.endswith("?")


@pytest.mark.parametrize(
    "text",
    [
        "turn on the pump and the relay for 5 minutes",
        "turn the pump and the relay on for 5 minutes",
    ],
)
async def test_a_length_is_of_all_things_of_one_deed(text: str) -> None:
    calls = await called(text)
    assert [(given["pin"], given["for_seconds"]) for _, given in calls] == [
        ("pump", 300),
        ("relay", 300),
    ]


async def test_an_end_at_a_time_is_of_no_second_deed() -> None:
    asked = user_said("turn on the pump until half past nine and the relay off")
    (look,) = (await answered(asked)).tool_calls
    now = '{"time": "2026-11-22T20:00:30+01:00"}'
    assert not (await answered(asked, *came_of(look, now))).tool_calls


PLAIN_LENGTHS = [
    "turn the pump on 5 minutes",
    "mach die Pumpe 5 Minuten an",
    "Pumpe 5 Minuten anmachen",
    "allume la pompe 5 minutes",
    "enciende la bomba 5 minutos",
    "accendi la pompa 5 minuti",
    "liga a bomba 5 minutos",
    "zet de pomp 5 minuten aan",
]


@pytest.mark.parametrize("text", PLAIN_LENGTHS)
async def test_minutes_without_a_word_are_how_long_it_is_on(text: str) -> None:
    given = {"pin": "pump", "value": "on", "for_seconds": 300}
    assert await called(text) == [("board_gpio_write", given)]


@pytest.mark.parametrize(
    "text",
    [
        "turn the pump off 5 minutes",
        "turn on the 5 minute pump",
        "turn the pump on 5 minutes early",
        "mach die Pumpe seit 5 Minuten an",
        "mach die Pumpe 5 Minuten vor 8 an",
        "zet de pomp 5 of 10 minuten aan",
        "wait a minute turn on the pump",
    ],
)
async def test_minutes_that_may_be_something_else_are_asked_about(text: str) -> None:
    assert [name for name, _ in await called(text) if name != "board_gpio_read"] == []
