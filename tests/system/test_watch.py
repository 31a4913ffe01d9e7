"""From the board's input to the owner's screen and back: watches, turns and the button."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess, chat_environ
from tests.fakes.llm_thread import LlmThread
from tests.waits import stays_sync, wait_until_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

WATCHES = """
approve_button = "button"
[board.watch.dark]
pin = "light"
below = 0.5
say = "It is dark: {value}."
[board.watch.soil]
pin = "a0"
above = 2.5
ask = "turn the led on"
"""
PRESSED_S = 0.15
PATIENCE_S = 10.0


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[BoardSim]:
    folder = tmp_path / "board"
    folder.mkdir()
    world = {"values": {"temperature": 24.5, "light": 2.0, "a0": 1.0, "button": 0}}
    with BoardSim(folder, world) as sim:
        yield sim


def listening(chat: ChatProcess) -> None:
    """Until the agent has done something, so that its models are loaded and the board is heard."""
    assert "off" in chat.say("turn the led off")
    take_subscription()


def take_subscription() -> None:
    """Give the board time to take one; nothing outside the agent shows that it has."""
    time.sleep(0.5)


def until_said(log: Path, words: str, times: int) -> None:
    wait_until_sync(lambda: log.exists() and log.read_text().count(words) >= times)


def test_what_happens_is_told_and_a_turn_that_acts_waits_for_the_button(
    sim: BoardSim, tmp_path: Path
) -> None:
    with ChatProcess(tmp_path, f'[board]\nport = "{sim.port}"\n{WATCHES}') as chat:
        listening(chat)
        sim.set(light=0.3)
        assert chat.hear() == "It is dark: 0.3 V."
        sim.set(a0=2.8)
        # A turn that nobody has asked for may look and not act: the led waits for a person
        stays_sync(lambda: sim.value("led") == 0, 1.0)

        def press() -> None:
            for value in (1, 0):
                sim.set(button=value)
                time.sleep(PRESSED_S)

        # A press before the question is none: this machine may be slow to ask
        wait_until_sync(lambda: press() or sim.value("led"))
        assert "on" in chat.hear()
        status, errors = chat.leave()
        assert (status, errors) == (0, "")
        assert "Traceback" not in chat.log()


def test_what_the_daemon_has_to_tell_waits_for_the_next_chat(sim: BoardSim, tmp_path: Path) -> None:
    config = f'[board]\nport = "{sim.port}"\n{WATCHES}'
    environ = chat_environ(tmp_path, config)
    command = [sys.executable, "-m", "agent.cli.main", "run"]
    log = tmp_path / "run.log"
    with log.open("w") as said:
        daemon = subprocess.Popen(command, env=environ, stderr=said)
    try:
        until_said(log, "link: board is ready", 1)
        sim.set(light=0.3, a0=2.8)
        # The last thing that is written of each
        until_said(tmp_path / "state" / "watches.json", '"is_beyond": true', 2)
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE_S)
    with ChatProcess(tmp_path, config) as chat:
        heard = sorted((chat.hear(), chat.hear()), key=lambda line: "nobody" in line)
        assert heard[0].endswith("It is dark: 0.3 V.")
        assert "I could not reach you, so I did not do this: turn the led on" in heard[1]


def test_a_watch_is_set_by_chat_and_tells(sim: BoardSim, tmp_path: Path) -> None:
    with LlmThread() as service:
        config = f'[provider]\nbase_url = "{service.server.base_url}"\n'
        config += f'[board]\nport = "{sim.port}"\n'
        with ChatProcess(tmp_path, config) as chat:
            listening(chat)
            answer = chat.say("tell me when the mcu_temperature goes above 30")
            assert "high_mcu_temperature" in answer
            take_subscription()
            sim.set(temperature=31.5)
            assert chat.hear() == "high_mcu_temperature: mcu_temperature is 31.5 °C."
