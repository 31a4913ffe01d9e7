from hypothesis import given
from hypothesis import strategies as st

from agent.link.label import safe_label


def test_ordinary_text_is_kept() -> None:
    assert safe_label("Temperature in °C 温度", 40) == "Temperature in °C 温度"


def test_lines_become_one() -> None:
    assert safe_label("first\nsecond\tthird", 40) == "first second third"


def test_escape_sequences_lose_their_power() -> None:
    assert safe_label("\x1b[31mred\x07", 40) == "[31mred"


@given(st.text(max_size=200), st.integers(1, 50))
def test_whatever_comes_in_is_short_and_printable(raw: str, limit: int) -> None:
    label = safe_label(raw, limit)
    assert len(label) <= limit
    assert label.isprintable()
