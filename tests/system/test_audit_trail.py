"""What a person says to a real agent with a board, as the audit log has it afterwards."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess, chat_environ

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

CANARY = "canary-41e7b0c2d9"


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[BoardSim]:
    folder = tmp_path / "board"
    folder.mkdir()
    with BoardSim(folder, {"values": {}}) as sim:
        yield sim


def audit(folder: Path, config: str, *words: str) -> str:
    environ = chat_environ(folder, config)
    command = [sys.executable, "-m", "agent.cli.main", "audit", *words]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=True, timeout=15
    )
    return done.stdout


def test_an_output_is_on_record_with_what_the_board_read_back(
    sim: BoardSim, tmp_path: Path
) -> None:
    config = f'[board]\nport = "{sim.port}"\n[provider]\nkind = "offline"\napi_key = "{CANARY}"\n'
    with ChatProcess(tmp_path, config) as chat:
        assert "on" in chat.say("turn the led on")
        chat.say(f"write {CANARY} into a.txt")
        rows = json.loads(audit(tmp_path, config, "tail", "--json", "--effects"))
        assert rows[0]["tool"] == "board_gpio_write"
        assert json.loads(rows[0]["read_back"]) == {"pin": "led", "value": "on"}
        # It was written to the file, and is on record without it
        assert (rows[1]["tool"], rows[1]["ok"]) == ("file_write", True)
        assert "***" in audit(tmp_path, config, "tail", "--tool", "file_write")
        assert "intact" in audit(tmp_path, config, "verify")
    files = list(tmp_path.rglob("audit/*.jsonl"))
    assert files
    assert not any(CANARY.encode() in path.read_bytes() for path in files)
