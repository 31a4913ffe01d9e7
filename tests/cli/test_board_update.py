"""`barnacle board update` against the real firmware in the real interpreter."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli.board import update_firmware
from agent.cli.parser import parser
from agent.errors import LinkLost
from firmware.host import image as images
from firmware.host.bundle import BundledFile, bundle
from tests.fakes.board import FakeBoard
from tests.fakes.board_sim import ROOT, BoardSim, unavailable_reason

# Two seconds on an idle machine
UPDATE_LIMIT_S = 50.0


@pytest.fixture
def board(tmp_path: Path) -> Iterator[BoardSim]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with BoardSim(tmp_path) as started:
        yield started


def barnacle(board: BoardSim, *words: str) -> subprocess.CompletedProcess[str]:
    """The command as a person types it."""
    command = [sys.executable, "-m", "agent.cli.main", "board", words[0], "--port", str(board.port)]
    return subprocess.run(
        [*command, *words[1:]],
        cwd=ROOT,
        env={**os.environ, "BARNACLE_STATE_DIR": str(board.port.parent / "state")},
        capture_output=True,
        text=True,
        timeout=UPDATE_LIMIT_S,
        check=False,
    )


def image_of_another_build(folder: Path, version: str = "[9,0,0]") -> Path:
    files = [file for file in bundle("simulated") if file.target not in images.OUTSIDE]
    description = files.pop()
    text = description.content.replace(b"BUILD = ", b"BUILD = 77 or ")
    about = BundledFile(
        "about.json",
        f'{{"board":"simulated","build":77,"version":{version}}}'.encode(),
    )
    content = images.joined([about, *files, BundledFile("description.py", text)])
    (folder / "new.fw").write_bytes(content)
    return folder / "new.fw"


def test_the_new_version_runs_and_stays(board: BoardSim, tmp_path: Path) -> None:
    new = image_of_another_build(tmp_path)
    done = barnacle(board, "update", "--image", str(new))
    assert done.stdout == "simulated runs firmware 9.0.0 (build 77)\n", done.stderr
    assert "build 77," in barnacle(board, "info").stdout
    again = barnacle(board, "update", "--image", str(new))
    assert again.stdout == "simulated already runs firmware 9.0.0 (build 77)\n"


def test_an_older_version_waits_for_a_word(board: BoardSim, tmp_path: Path) -> None:
    """As where a card went back to the version before, and the board did not."""
    old = image_of_another_build(tmp_path, "[0,0,1]")
    done = barnacle(board, "update", "--image", str(old))
    assert done.returncode == 1
    assert "firmware 0.0.1 (build 77) is older than" in done.stderr
    assert "--force" in done.stderr
    assert "build 77," not in barnacle(board, "info").stdout
    done = barnacle(board, "update", "--image", str(old), "--force")
    assert done.stdout == "simulated runs firmware 0.0.1 (build 77)\n", done.stderr


async def test_the_way_with_a_file_of_your_own_is_one_that_the_command_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.cli.board.carried_for", lambda _identity: None)
    with pytest.raises(LinkLost) as told:
        await update_firmware(FakeBoard(), parser().parse_args(["board", "update"]))
    commands = re.findall(r"`barnacle ([^`]+)`", str(told.value))
    assert [parser().parse_args(words.split()).image for words in commands] == ["FILE.fw"]


def test_a_file_that_is_no_image_is_one_sentence(board: BoardSim, tmp_path: Path) -> None:
    (tmp_path / "new.fw").write_bytes(b"rubbish")
    done = barnacle(board, "update", "--image", str(tmp_path / "new.fw"))
    assert done.returncode == 1
    assert done.stderr.endswith("new.fw is not a firmware image\n")
    assert "Traceback" not in done.stderr
