import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from agent.printable import printable_line, printable_text, spelled_out


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


@given(st.text())
def test_spelled_out_everything_can_be_seen_and_nothing_is_lost(raw: str) -> None:
    shown = spelled_out(raw)
    assert shown.isprintable()
    assert len(shown) >= len(raw)


def test_spelled_out_what_hides_has_a_name_and_the_rest_stays() -> None:
    assert spelled_out("rm\u00a0\u202eфыва \u200d\ud800") == r"rm\xa0\u202eфыва \u200d\ud800"
