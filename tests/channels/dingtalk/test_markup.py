import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.dingtalk.markup import MAX_BYTES, MAX_PART_BYTES, parts, shown
from agent.channels.render.plain import to_plain
from tests.fakes.markdown import answers


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("It is **warm**.", "It is **warm**."),
        ("# Today\n\n*mild*\nand dry", "**Today**\n\n*mild*  \nand dry"),
        ("> so *he*\n> says\n\nwell", "> so *he*  \n> says\n\nwell"),
        ("see [here](https://example.org/a_b)", "see [here](https://example.org/a_b)"),
        ("- **a**\n- b", "• **a**  \n• b"),
    ],
)
def test_what_the_platform_has_marks_for_is_marked(written: str, text: str) -> None:
    found = shown(written)
    assert found.text == text
    assert found.hooked["msgtype"] == "markdown"
    assert found.by_robot[0] == "sampleMarkdown"


@pytest.mark.parametrize(
    "written",
    [
        "**set** `gpio_write_pin` to 2*3",
        "```\n**x**\n```\n\nand **y**",
        "plain",
        "**a** <b>",
        "**a** [b](tg://c)",
        "- **a**\n  - b",
        "1 \\# **a**\n\\# b",
    ],
)
def test_what_it_might_misread_goes_as_text_sign_by_sign(written: str) -> None:
    found = shown(written)
    assert found.text == to_plain(written)
    assert found.hooked == {"msgtype": "text", "text": {"content": found.text}}
    assert found.by_robot == ("sampleText", {"content": found.text})


def test_a_message_has_its_first_words_for_a_title() -> None:
    assert shown(f"# Today\n\n**{'x' * 100}**").title == "Today"
    assert shown(f"**{'x' * 100}**").title == "x" * 60


@given(answers)
def test_nothing_that_is_shown_is_lost(written: str) -> None:
    found = shown(written)
    read = to_plain(found.text) if found.title else found.text
    assert read == to_plain(written)


@given(st.text(st.sampled_from(' \n"\\*_ab漢👩‍🚀'), max_size=200), st.integers(1, 60))
def test_no_part_is_more_than_the_platform_takes(word: str, times: int) -> None:
    for part in parts(word * times):
        found = shown(part)
        assert len(found.text.encode()) <= 2 * MAX_PART_BYTES
        assert found.is_short_enough
        assert len(str(found.by_robot[1]).encode()) <= 2 * MAX_BYTES
