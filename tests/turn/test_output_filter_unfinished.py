import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.turn.output_filter import certain, without_artifacts

LEAVINGS = ("\n[Used tools: shell, web_search]\n", "\n[Tool results]\n", "\n[tool calls: 2]\n")
WORDS = (
    *("It is on. ", "a < b and ", "x <b> y ", "\n\n", "\n- one\n", "`code` ", "~5 °C "),
    *("[page](h) ", "\n```python\nprint({1: 2})\n```\n", '\n{"lamp": "on"}\n', "\n[1] a note\n"),
    *("it's ", "“so” ", "<", "\n[", "~~gone~~ ", "\n{", "<tool_call>", "\n```\n[Used"),
)


def shown(text: str) -> str:
    return without_artifacts(text[: certain(text)], used_tools=False)


def drafts(text: str) -> list[str]:
    return [shown(text[:end]) for end in range(len(text) + 1)]


@pytest.mark.parametrize("leaving", LEAVINGS)
def test_no_part_of_a_note_on_tools_is_ever_shown(leaving: str) -> None:
    for draft in drafts(f"It is on.{leaving}"):
        assert draft.rstrip() == "It is on."[: len(draft.rstrip())]
    after = drafts(f"It is on.{leaving} Anything else?")
    assert all("tool" not in draft.lower() for draft in after)
    assert after[-1].endswith("else?")


@pytest.mark.parametrize("words", WORDS)
def test_what_a_person_asked_for_is_shown_soon(words: str) -> None:
    text = f"So: {words}And now it goes on as it should."
    assert shown(text) == text


def test_brackets_without_end_break_nothing() -> None:
    assert certain("[" * 100_000) >= 0


@given(st.lists(st.sampled_from((*WORDS, *LEAVINGS)), max_size=5).map("".join))
def test_a_text_only_grows(text: str) -> None:
    last = ""
    for draft in drafts(text):
        # Empty lines around what went are made one
        assert "".join(draft.split()).startswith("".join(last.split()))
        last = draft


@given(st.text(st.sampled_from("ab <>/{}[]\"':`~\n"), max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert 0 <= certain(text) <= len(text)
