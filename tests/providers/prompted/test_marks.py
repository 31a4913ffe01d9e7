import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.prompted.marks import MARK, defused, may_become_mark
from tests.providers.prompted.test_reader import CALL, MARKED, OBJECT, read

MARKS = [
    *("<tool_call>", "</tool_call>", '<invoke name="x">', "<function=x>", "<think>", "</think >"),
    *("<minimax:tool_call>", "<tool-call/>", "<TOOL_CALL>", "<tool_result>", "<eom>"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_every_beginning_of_a_mark_may_become_one(mark: str) -> None:
    assert MARK.fullmatch(mark)
    assert all(may_become_mark(mark[:end]) for end in range(1, len(mark)))


@pytest.mark.parametrize(
    "text", ["<b", "<tool_box", "< tool_call", "<<", "<tool_call>", "<invoked", "<tool_call " * 50]
)
def test_nothing_else_is_waited_for(text: str) -> None:
    assert not may_become_mark(text)


@given(MARKED)
def test_a_model_that_repeats_what_was_defused_calls_nothing(text: str) -> None:
    shown, reading = read(f"It says: {defused(text)} .")
    assert (reading.wanted, reading.problems) == ((), ())
    assert shown == f"It says: {defused(text)} ."


def test_what_is_defused_can_still_be_read() -> None:
    assert defused(CALL) == f"&lt;tool_call>{OBJECT}&lt;/tool_call>"
    assert defused(f"```tool_call\n{OBJECT}\n```") == f"```quoted tool_call\n{OBJECT}\n```"
    assert defused("a < b <b>bold</b> ```json\n{}\n```") == "a < b <b>bold</b> ```json\n{}\n```"


@given(st.text())
def test_other_text_stays_as_it_is(text: str) -> None:
    if not re.search(r"<|tool|function", text):
        assert defused(text) == text
