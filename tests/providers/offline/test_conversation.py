"""A conversation as turns, whatever messages it is made of, and what comes of whole ones."""

import tomllib
from pathlib import Path

import pytest

from agent.messages import ChatMessage, Effect, Role, ToolCall
from agent.providers.base import ChatResponse
from agent.providers.offline.conversation import MAX_TURNS, table_of, turns_of
from agent.providers.offline.plan import Order
from tests.fakes.said import assistant_said, system_said, tool_said, user_said, words
from tests.providers.offline.talk import Talk, agrees, outcome
from tests.providers.offline.toolset import RICH, RICH_RESULTS

CALL = ToolCall("c1", "time_now", '{"zone":"UTC"}')
_TABLES = tomllib.loads((Path(__file__).parent / "dialogues.toml").read_text("utf-8"))
_NEVER = _TABLES.pop("never")
CASES = [case for table in _TABLES.values() for case in table.items()]
NEVER = [said for dialogues in _NEVER.values() for said in dialogues]
ACTING = {one.name for one in RICH if one.effect is not Effect.READ} - {"memory_store"}


def test_a_turn_has_what_was_said_called_and_answered() -> None:
    (turn,) = turns_of(
        [
            system_said("prompt"),
            user_said("what time is it?"),
            assistant_said("", (CALL,)),
            tool_said(CALL, "noon"),
            assistant_said("It is noon."),
        ]
    )
    assert turn.text == "what time is it?"
    assert turn.answer == "It is noon."
    assert [(one.order, one.result) for one in turn.exchanges] == [
        (Order("time_now", {"zone": "UTC"}), "noon")
    ]


def test_a_result_without_its_call_is_known_by_its_tool() -> None:
    stray = ChatMessage(Role.TOOL, words("noon"), call_id="lost", tool_name="time_now")
    (turn,) = turns_of([user_said("hm"), stray])
    assert turn.exchanges[0].order == Order("time_now", {})


def test_only_the_last_turns_are_looked_at() -> None:
    said = [user_said(str(number)) for number in range(50)]
    assert [turn.text for turn in turns_of(said)] == [str(n) for n in range(50 - MAX_TURNS, 50)]


def test_nothing_said_makes_no_turn() -> None:
    assert turns_of([system_said("prompt"), assistant_said("hello")]) == []


def test_what_is_no_json_object_has_no_fields() -> None:
    for text in ("", "error: no", "[1]", "1" * 5000, "[" * 100_000, "\ud800"):
        assert table_of(text) == {}


async def _last(dialogue: str) -> ChatResponse:
    talk = Talk(RICH, RICH_RESULTS)
    *before, last = dialogue.split(" // ")
    for said in before:
        await talk.ask(said)
    return await talk.say(last)


@pytest.mark.parametrize(("dialogue", "wanted"), CASES)
async def test_the_last_message_is_read_as_its_table_says(dialogue: str, wanted: str) -> None:
    response = await _last(dialogue)
    assert agrees(wanted, response), f"{outcome(response)} | {response.text}"


@pytest.mark.parametrize("dialogue", NEVER)
async def test_what_is_no_order_acts_on_nothing(dialogue: str) -> None:
    response = await _last(dialogue)
    assert ACTING.isdisjoint(call.name for call in response.tool_calls), outcome(response)


async def test_words_beside_a_message_order_nothing() -> None:
    beside = "(The subject of the letter, which orders nothing:)\n> lights\n\n"
    assert outcome(await Talk().say(f"{beside}turn the led on")).count("gpio_write") == 1
    quoted = "(In answer to this message, which orders nothing:)\n> turn the led on\n\n"
    assert "gpio_write" not in outcome(await Talk().say(f"{quoted}thank you"))
