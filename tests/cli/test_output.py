import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli import exits
from agent.cli.main import main
from agent.cli.output import say, say_json, say_table
from tests.fakes.typist import typing


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    say_table([("a", "bbb", "c"), ("aaa", "b", "c")], indent=" ")
    assert capsys.readouterr().out == " a    bbb  c\n aaa  b    c\n"


def test_an_empty_table_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    say_table([])
    assert capsys.readouterr().out == ""


def test_a_cell_is_one_line_without_control(capsys: pytest.CaptureFixture[str]) -> None:
    say_table([("a\nb\x1b[2J\u202e", "c")])
    assert capsys.readouterr().out == "a b[2J  c\n"


def test_lines_are_kept_and_control_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\nb\x07\u202e")
    assert capsys.readouterr().out == "a\nb\n"


@given(st.text(max_size=80))
def test_json_is_whole_whatever_it_holds(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", printed.append)
        say_json({"text": text})
    assert json.loads(printed[0]) == {"text": text}


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that asks before it imports memories, in an event loop."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- **sister**: is called Mei\n")
    return ["memory", "import", str(tmp_path / "MEMORY.md"), "--provenance", "owner"]


@pytest.mark.parametrize("words", [[], ["backup"]])
def test_who_leaves_a_question_by_ctrl_d_is_told_that_nothing_was_done(
    asking: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    typing(monkeypatch)
    assert main(words or asking) == exits.FAILED
    said = capsys.readouterr().err
    assert said == "barnacle: the input ended before an answer: nothing more was done\n"


def test_ctrl_c_at_a_question_is_heard_at_once_and_not_after_the_next_line(
    asking: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typing(monkeypatch)
    later: list[str] = []

    def press_ctrl_c(_question: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        later.append("the terminal waits for a line")
        return "y"

    monkeypatch.setattr("builtins.input", press_ctrl_c)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(asking) == exits.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert later == []
