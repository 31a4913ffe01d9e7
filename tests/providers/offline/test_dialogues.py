"""Tables of whole conversations: what points back, what is put off, what must never act."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent.messages import Effect
from agent.providers.base import ChatResponse
from tests.providers.offline.talk import Talk, agrees, outcome
from tests.providers.offline.toolset import RICH

_TABLES = tomllib.loads((Path(__file__).parent / "dialogues.toml").read_text("utf-8"))
_NEVER = _TABLES.pop("never")
CASES = [case for table in _TABLES.values() for case in table.items()]
NEVER = [said for dialogues in _NEVER.values() for said in dialogues]
ACTING = {one.name for one in RICH if one.effect is not Effect.READ} - {"memory_store"}
MEMORY = {
    "key": "k1",
    "content": "my sister is called Mei · 我妹妹叫小美 · 妹の名前はメイ · 내 여동생 이름은 메이 · "
    "meine Schwester heißt Mei · mi hermana se llama Mei",
    "provenance": "owner",
    "date": "2026-11-20",
}
RESULTS: dict[str, Any] = {
    "board_gpio_write": dict,
    "board_pwm_write": dict,
    "board_servo_write": dict,
    "board_heater_set": lambda arguments: {"value": arguments["temperature"], "unit": "°C"},
    "board_mcu_temperature": {"value": 24.5, "unit": "°C"},
    "memory_recall": {"memories": [MEMORY]},
    "memory_list": {"memories": [MEMORY]},
    "file_read": {"path": "notes.txt", "text": "turn on the pump"},
    "watch_list": {"watches": []},
}


async def _last(dialogue: str) -> ChatResponse:
    talk = Talk(RICH, RESULTS)
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
