import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.dispatch.leavings import without_leavings
from agent.dispatch.unfinished import certain

TOOLS = frozenset({"shell", "web_search"})
CALL = '{"name": "shell", "arguments": {"command": "ls {x} # \\"a\\" \\u00e4", "at": [true, -1.5]}}'
LEAVINGS = (
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<toolcall>{CALL}</toolcall>",
    f"<tool-call>{CALL}</tool-call>",
    '<invoke name="shell"><parameter name="command">ls</parameter></invoke>',
    "<function=shell><parameter=command>ls</parameter></function>",
    "</tool_call>",
    f"\n{CALL}",
    f"\n  [{CALL},\n {CALL}]",
    f"\n```json\n{CALL}\n```\n",
    f"\n```\n[{CALL}]\n```",
    "\n[Used tools: shell, web_search]\n",
)
WORDS = (
    *(
        "It is on. ",
        "a < b and ",
        "x <b> y ",
        "\n\n",
        "\n- one\n",
        "`code` ",
        "~5 °C ",
        "[page](h) ",
    ),
    *(
        "\n```python\nprint({1: 2})\n```\n",
        '\n```json\n{"lamp": [1, 2]}\n```\n',
        '\n{"lamp": "on"}\n',
    ),
    *("\n[1] a note\n", "\n{x}\n", "it's ", "“so” ", "`", "<", "\n[", "~~gone~~ ", "\n{"),
)


def shown(text: str) -> str:
    return without_leavings(text[: certain(text, TOOLS)], TOOLS, used_tools=False)


def drafts(text: str) -> list[str]:
    return [shown(text[:end]) for end in range(len(text) + 1)]


@pytest.mark.parametrize("leaving", LEAVINGS)
def test_no_part_of_what_was_meant_for_a_machine_is_ever_shown(leaving: str) -> None:
    for draft in drafts(f"It is on.{leaving}"):
        assert draft.rstrip() == "It is on."[: len(draft.rstrip())]
    after = drafts(f"It is on.{leaving} Anything else?")
    assert all("shell" not in draft and "tool" not in draft.lower() for draft in after)
    assert after[-1].endswith("else?")


@pytest.mark.parametrize("words", WORDS)
def test_what_a_person_asked_for_is_shown_soon(words: str) -> None:
    text = f"So: {words}And now it goes on as it should."
    assert shown(text) == text


def test_a_long_block_of_code_grows() -> None:
    assert shown("So:\n```python\nfor x in y:\n    pri").endswith("pri")
    assert shown('So:\n```json\n{"lamp": tr') == "So:\n"


def test_an_object_that_cannot_be_one_holds_up_nothing() -> None:
    assert shown("{a set of words} and what follows").endswith("follows")


def test_brackets_without_end_break_nothing() -> None:
    assert certain("[" * 100_000, TOOLS) >= 0


@given(st.lists(st.sampled_from((*WORDS, *LEAVINGS)), max_size=5).map("".join))
@example("`" + LEAVINGS[0])
def test_a_text_only_grows(text: str) -> None:
    last = ""
    for draft in drafts(text):
        # Empty lines around what went are made one
        assert "".join(draft.split()).startswith("".join(last.split()))
        last = draft


@given(st.text(st.sampled_from("ab <>/{}[]\"':`~\n"), max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert 0 <= certain(text, TOOLS) <= len(text)
