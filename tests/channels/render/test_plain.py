from hypothesis import given

from agent.channels.render.plain import to_plain, to_styles
from agent.channels.render.styled import utf16_units
from tests.fakes.markdown import answers


def test_styles_are_counted_in_utf16_units() -> None:
    text, styles = to_styles("👍 **bold** and `code`")
    assert text == "👍 bold and code"
    assert styles == ((3, 4, "BOLD"), (12, 4, "MONOSPACE"))


def test_marks_of_quotes_and_addresses_of_links_move_what_follows() -> None:
    text, styles = to_styles("> a **b**\n\n[t](https://e.org) *i*")
    assert text == "> a b\n\nt (https://e.org) i"
    assert [text[start : start + length] for start, length, _ in styles] == ["b", "i"]


@given(answers)
def test_every_range_lies_in_the_text(markdown: str) -> None:
    text, styles = to_styles(markdown)
    assert text == to_plain(markdown)
    for start, length, _ in styles:
        assert 0 <= start < start + length <= utf16_units(text)
