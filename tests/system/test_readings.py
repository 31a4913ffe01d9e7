"""The record of a simulated board at work: asked in words, drawn in a terminal, kept at the end."""

import re
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess
from tests.waits import wait_until_sync

pytestmark = [
    pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason())),
    pytest.mark.timeout(120),
]
# The recorder looks every ten seconds
PATIENCE_S = 60.0


def on_s(answer: str) -> int:
    """Return the seconds of an answer such as "The pump: on for 3 s."; -1 for any other."""
    found = re.fullmatch(r"The pump: on for (\d+) s\.", answer)
    return int(found[1]) if found else -1


def test_how_long_a_pump_was_on_is_known_without_a_model_and_after_a_restart(
    tmp_path: Path,
) -> None:
    (tmp_path / "board").mkdir()
    with BoardSim(tmp_path / "board", {"values": {"temperature": 24.5}}) as sim:
        config = f'[board]\nport = "{sim.port}"\n[readings]\nrecord = "10s"\n'
        asked = "how long was the pump on today?"
        with ChatProcess(tmp_path, config) as chat:
            wait_until_sync(lambda: on_s(chat.say(asked)) == 0, PATIENCE_S)
            assert "is on" in chat.say("turn the pump on")
            wait_until_sync(lambda: on_s(chat.say(asked)) >= 1, PATIENCE_S)
            assert "is off" in chat.say("turn the pump off")
            assert "24.5 °C" in chat.say("lowest temperature today?")
            assert "24.5" in chat.say("/plot mcu_temperature 30min")
            assert chat.leave() == (0, "")
        with ChatProcess(tmp_path, config) as chat:
            assert on_s(chat.say(asked)) >= 1
