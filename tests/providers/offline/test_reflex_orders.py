"""Orders about reflexes: the console's own sentences, and what is none of them."""

import json
from typing import Any

import pytest

from agent.console.wording import wording
from agent.messages import Effect
from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import RICH, spec

NAMED: dict[str, Any] = {"name": {"type": "string"}}
PAUSED = {**NAMED, "paused": {"type": "boolean", "default": True}}


def reflexes(board: str = "") -> tuple[Any, ...]:
    return (
        spec(f"{board}reflex_delete", "Delete a rule that the board runs by itself.", NAMED,
             effect=Effect.WRITE),
        spec(f"{board}reflex_list", "The rules that the board runs by itself, and its state."),
        spec(f"{board}reflex_pause", "Let a rule of the board rest.", PAUSED, required=("name",),
             effect=Effect.WRITE),
    )  # fmt: skip


TOOLS = (*RICH, *reflexes())
RESULTS: dict[str, Any] = {
    "reflex_pause": lambda given: {"reflex": given["name"], "paused": given["paused"]},
    "reflex_delete": lambda given: {"deleted": given["name"]},
}
ORDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "pause": ("reflex_pause", {"paused": True}),
    "resume": ("reflex_pause", {"paused": False}),
    "delete": ("reflex_delete", {}),
}


@pytest.mark.parametrize("name", ["dry", "water_when_dry", "led", "stop_all_2", "not_at_night"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("code", ["de", "en", "es", "ja", "ko", "zh"])
async def test_the_consoles_sentence_is_understood(code: str, order: str, name: str) -> None:
    said = wording(code)(f"board.say_{order}", name=name)
    response = await Talk(TOOLS, RESULTS).say(said)
    tool, more = ORDERS[order]
    assert [call.name for call in response.tool_calls] == [tool], response.text
    assert json.loads(response.tool_calls[0].arguments_json) == {"name": name, **more}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Pause the reflex dry.", "The reflex “dry” rests."),
        ("resume the dry reflex", "The reflex “dry” acts again."),
        ("delete reflex dry", "The reflex “dry” is deleted."),
        ("lösche den Reflex dry", "Der Reflex „dry“ ist gelöscht."),
        ("暂停反射规则dry", "反射规则“dry”已暂停。"),
    ],
)
async def test_what_came_of_it_is_told(said: str, told: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    assert (await talk.ask(said)) == told


@pytest.mark.parametrize(
    "said",
    [
        "don't pause the reflex dry",
        "pause the reflex dry and the reflex wet",
        "should I delete the reflex dry",
        "he said: delete the reflex dry",
        "if it rains pause the reflex dry",
        "pause the reflexes",
        "delete the reflex",
        "delete the reflex dry tomorrow",
        "delete dry",
        "pause dry",
    ],
)
async def test_nothing_else_is_an_order(said: str) -> None:
    response = await Talk(TOOLS, RESULTS).say(said)
    names = {call.name for call in response.tool_calls}
    assert not names & {"reflex_pause", "reflex_delete"}


async def test_of_several_boards_it_is_asked_which_one() -> None:
    tools = (*RICH, *reflexes(), *reflexes("shed_"))
    talk = Talk(tools, {})
    asked = await talk.say("delete the reflex dry")
    assert asked.tool_calls == ()
    assert "shed" in asked.text
    response = await talk.say("shed")
    assert [call.name for call in response.tool_calls] == ["shed_reflex_delete"]
    assert json.loads(response.tool_calls[0].arguments_json) == {"name": "dry"}


async def test_a_strangers_tool_is_none() -> None:
    response = await Talk((*RICH, *reflexes("mcp_house_")), {}).say("delete the reflex dry")
    assert response.tool_calls == ()
