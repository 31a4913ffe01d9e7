"""First requests of the program to a model with a small window, with a board full of devices."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.turn.compaction import CODE_CHARS, tokens_of_text
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess
from tests.fakes.llm_thread import LlmThread
from tests.system.test_budgets import ENABLED, WIRED

# Prompt, tools and a short message
MOST_FIRST_TOKENS = 1500
LED = ("board_gpio_write",)
SENTENCES = {
    "turn the led on": LED,
    "is the button pressed?": ("board_gpio_read",),
    "what is the humidity of the living room?": ("board_climate_read",),
    "move the arm to 90 degrees": ("board_servo_write",),
    "wie warm ist es im Tank?": ("board_celsius_read",),
    "remind me at five to water the plants": ("reminder_set", "timer_start", "cron_add"),
    "what do you remember about my sister?": ("memory_recall", "memory_list"),
    "tell me when the button is pressed": ("watch_add",),
    "que el tablero apague la bomba por sí mismo, una regla": ("reflex_add",),
    "read the file notes.txt": ("file_read",),
}


def tokens_of_body(body: dict[str, Any]) -> int:
    """Return the cost of a request by the agent's own measure."""
    said = sum(tokens_of_text(one["content"]) for one in body["messages"])
    return said + tokens_of_text(json.dumps(body["tools"], ensure_ascii=False), CODE_CHARS)


@pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))
@pytest.mark.parametrize("window", [4096, 8192])
def test_prompt_and_the_tools_that_a_sentence_needs_fit(window: int, tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    (tmp_path / "state" / "workspace" / "documents").mkdir(parents=True)
    devices = [{"kind": kind, "pin": pin} for kind, pin in (("bme280", "PB6"), ("dht22", "PB13"))]
    with LlmThread() as service, BoardSim(tmp_path / "board", {"devices": devices}) as board:
        wired = "".join(
            f"[board.pins.{name}]\n"
            + "".join(f"{key} = {json.dumps(value)}\n" for key, value in pin.items())
            for name, pin in WIRED.items()
        )
        config = (
            f'[provider]\nbase_url = "{service.server.base_url}"\ncontext_tokens = {window}\n'
            f'[board]\nport = "{board.port}"\n{wired}{ENABLED}'
        )
        missed = []
        with ChatProcess(tmp_path, config) as chat:
            for sentence, wanted in SENTENCES.items():
                chat.say("/new")
                before = len(service.server.requests)
                chat.say(sentence)
                body = service.server.requests[before].body
                assert tokens_of_body(body) <= MOST_FIRST_TOKENS, sentence
                assert body["max_tokens"] <= window // 4
                names = {tool["function"]["name"] for tool in body["tools"]}
                if names.isdisjoint(wanted):
                    missed.append((sentence, sorted(names)))
        assert missed == []
