import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.output import say, say_json, say_table


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
