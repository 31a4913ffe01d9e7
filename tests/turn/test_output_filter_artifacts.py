import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.turn.output_filter import without_artifacts

CALL = '{"name": "shell", "arguments": {"command": "ls {x}"}}'


def cleaned(text: str, *, used_tools: bool = False) -> str:
    return without_artifacts(text, used_tools=used_tools)


@pytest.mark.parametrize("leaving", ["[Used tools: shell, web_search]", "[Tool results]"])
def test_a_note_on_tools_goes(leaving: str) -> None:
    assert cleaned(f"It is on.\n\n{leaving}\n\nAnything else?") == "It is on.\n\nAnything else?"
    assert cleaned(f"It is on.\n{leaving}") == "It is on."
    assert cleaned(leaving) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The marks are `<tool_call>` and `</tool_call>`.",
        "```xml\n<tool_call>{}</tool_call>\n```",
        f"A call looks like this:\n```json\n{CALL}\n```\nand nothing more.",
        f"Write {CALL} and wait.",
        '<invoke name="shell"><parameter name="command">ls</parameter></invoke> is one form.',
        "<function=shell><parameter=command>ls</parameter></function> is another.",
        "```\n[Used tools: none]\n```",
        '{"name": "Ann", "arguments": ["for", "against"]}',
        'Set it to {"name": "shell"}.',
        "a < b and b > c",
        "[Used] is a word",
        "  indented\n\n\n\nand spaced",
        "I'll be back.",
    ],
)
def test_what_a_person_asked_for_stays(text: str) -> None:
    assert cleaned(text) == text


def test_talk_before_a_deed_goes_when_the_deed_is_done() -> None:
    talk = "Let me check the sensor...\nI'll read it now.\nIt is 21 °C."
    assert cleaned(talk, used_tools=True) == "It is 21 °C."
    assert cleaned(talk) == talk


@pytest.mark.parametrize(
    "told",
    [
        "Reading of the boiler: 71.3 °C.\nThe pump is off.",
        "Checking complete. The pump is off.\nAnything else?",
        "Reading the file failed.\nIt does not exist.",
        "I'll check it every 10 minutes and tell you above 30 °C.\nThe watch is called heat.",
        "I will read it again tomorrow morning.\nIt is 21 °C now.",
        "I'll call you when it is dry.\nIt is 21 °C now.",
        "Let me see you try again: the code is 4711.\nIt is 21 °C now.",
    ],
)
def test_what_an_answer_says_is_no_talk(told: str) -> None:
    assert cleaned(told, used_tools=True) == told


@pytest.mark.parametrize(
    "talk",
    [
        "Let me check the sensor.",
        "Okay, let me read the file:",
        "I'll now check the temperature for you.",
        "I'm going to search the web...",
        "Searching the web…",
        "Checking the sensor:",
    ],
)
def test_talk_in_other_words_goes_as_well(talk: str) -> None:
    assert cleaned(f"{talk}\nIt is 21 °C.", used_tools=True) == "It is 21 °C."


def test_talk_that_is_all_there_is_stays() -> None:
    assert cleaned("Let me check that.", used_tools=True) == "Let me check that."


@given(st.text(st.sampled_from("ab <>/{}[]\"':`\n"), max_size=80))
def test_no_text_breaks_it_and_cleaning_twice_changes_nothing(text: str) -> None:
    once = cleaned(text)
    assert cleaned(once) == once


def test_marks_that_turn_text_around_are_taken_out() -> None:
    turned = "pay \u202e001\u202c or \u2067x\u2069, שלום"
    assert without_artifacts(turned, used_tools=False) == "pay 001 or x, שלום"
