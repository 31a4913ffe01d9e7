"""`scripts/flash` as a person types it."""

from pathlib import Path

import pytest

from firmware.host import flash_command

ROOT = Path(__file__).parents[2]
GUIDES = ("README.md", "agent/link/README.md", "firmware/README.md")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["--board", "weact_blackpill_f411"], "--port PORT"),
        (["--port", "/dev/ttyACM0"], "--board NAME"),
    ],
)
def test_a_command_that_lacks_a_word_says_that_nothing_was_written(
    words: list[str],
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["flash", *words])
    assert flash_command.main() == 2
    assert capsys.readouterr().err == f"flash: nothing was written: add {missing}\n"


@pytest.mark.parametrize("guide", GUIDES)
def test_the_command_of_a_guide_names_all_that_it_needs(guide: str) -> None:
    lines = (ROOT / guide).read_text().splitlines()
    commands = [line for line in lines if "scripts/flash --board" in line]
    enough = ("--port ", "--dry-run", "--freeze ")
    assert commands
    assert [line for line in commands if not any(word in line for word in enough)] == []
