"""A light on a real board that shows how the agent is, and lapses with it."""

import time
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess
from tests.waits import stays_sync, wait_until_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

LEASE_MS = 2_000
MARGIN_MS = 50


def test_it_shines_while_the_agent_is_there_and_leaves_the_output_to_the_person(
    tmp_path: Path,
) -> None:
    (tmp_path / "board").mkdir()
    with BoardSim(tmp_path / "board", {"values": {"temperature": 24.5}}) as sim:
        config = f'[board]\nport = "{sim.port}"\nstatus_light = "led"\n'
        chat = ChatProcess(tmp_path, config)
        with chat:
            wait_until_sync(lambda: sim.value("led") == 1)
            # The stop locks the light with all the others
            assert "EMERGENCY STOP" in chat.say("/estop")
            wait_until_sync(lambda: sim.value("led") == 0)
            assert "cleared" in chat.say("/estop clear")
            wait_until_sync(lambda: sim.value("led") == 1)
            # Theirs now, through what would be thinking and blinking
            chat.say("turn the led on")
            count = len(sim.changes("led"))
            for _ in range(5):
                chat.say("what is the temperature?")
                stays_sync(lambda: len(sim.changes("led")) == count, 0.4)
            assert chat.leave() == (0, "")
        assert sim.value("led") == 0


def test_it_lapses_when_the_agent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    with BoardSim(tmp_path / "board", {"values": {"temperature": 24.5}}) as sim:
        config = f'[board]\nport = "{sim.port}"\nstatus_light = "led"\n'
        with ChatProcess(tmp_path, config) as chat:
            wait_until_sync(lambda: sim.value("led") == 1)
            killed_ms = time.monotonic() * 1000
            chat.kill()
            wait_until_sync(lambda: sim.value("led") == 0)
        assert sim.changes("led")[-1][1] - killed_ms <= LEASE_MS + MARGIN_MS
