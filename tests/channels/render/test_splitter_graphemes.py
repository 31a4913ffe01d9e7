import pytest

from agent.channels.render.splitter import last_cut, may_cut
from tests.fakes.markdown import SIGNS


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_is_cut_before_and_after_and_nowhere_inside(sign: str) -> None:
    text = sign * 3
    cuts = [place for place in range(len(text) + 1) if may_cut(text, place)]
    assert cuts == [len(sign) * n for n in range(4)]


def test_a_line_break_of_two_characters_is_one() -> None:
    assert not may_cut("a\r\nb", 2)
    assert may_cut("a\n\rb", 2)


def test_an_odd_row_of_flag_letters_is_paired_from_its_beginning() -> None:
    assert [may_cut("🇩🇪🇫🇷🇮", place) for place in range(1, 5)] == [False, True, False, True]


def test_the_last_cut_is_looked_for_backwards() -> None:
    assert last_cut("ab👨‍👩‍👧", 5) == 2
    assert last_cut("a\u0301\u0301", 2) == 2
