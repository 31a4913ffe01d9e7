import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.channels.render.parser import cleaned, read
from agent.channels.render.plain import spelled
from agent.channels.render.styled import Style, Styled, StyledSpan
from agent.channels.render.writer import written
from tests.fakes.markdown import answers


@given(answers)
@example("0. 0\n   - 0\n1. ~~~~~\n   - ~~~~~")
@example("\x1f\n0")
@example("&#31;\n0\n&#31;")
def test_what_was_read_and_written_is_read_as_the_same_text(markdown: str) -> None:
    styled = read(markdown)
    assert spelled(read(written(styled))).text == spelled(styled).text


@given(st.text(st.sampled_from("ab *_`[]()<>#+-.!|~&=\\\"'1:;/\t\u00a0\u3000"), min_size=1))
def test_text_alone_is_never_taken_for_marks(text: str) -> None:
    text = cleaned(text).strip()
    if text:
        assert read(written(Styled(text))).text == text


@pytest.mark.parametrize("style", [Style.BOLD, Style.ITALIC, Style.STRIKE, Style.CODE])
def test_a_style_is_written_back(style: Style) -> None:
    styled = Styled("one two three", (StyledSpan(4, 7, style),))
    assert read(written(styled)) == styled


def test_a_style_that_cannot_be_written_in_its_place_is_given_up() -> None:
    styled = Styled("a(b)c", (StyledSpan(1, 4, Style.BOLD),))
    assert read(written(styled)) == Styled("a(b)c")
