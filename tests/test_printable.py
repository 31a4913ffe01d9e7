import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from agent.printable import printable_line, printable_text


@given(st.text(), st.integers(0, 50))
def test_a_line_is_one_line_of_visible_characters_within_its_limit(raw: str, limit: int) -> None:
    line = printable_line(raw, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in line)


@given(st.text())
def test_ordinary_text_stays_as_it_is(raw: str) -> None:
    ordinary = "".join(char for char in raw if char.isprintable() or char == "\n")
    assert printable_text(ordinary, len(ordinary)) == ordinary


def test_an_emoji_family_stays_together() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert printable_line(family, 10) == family


def test_direction_marks_and_escapes_are_gone() -> None:
    assert printable_line("a\u202eb\x1b[31mc\x00d", 20) == "ab[31mcd"
