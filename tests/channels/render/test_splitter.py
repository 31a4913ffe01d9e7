import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.render.html import to_html_telegram
from agent.channels.render.parser import read
from agent.channels.render.plain import to_plain
from agent.channels.render.splitter import Measure, may_cut, split
from agent.channels.render.styled import Style, utf8_bytes, utf16_units
from tests.fakes.markdown import ADDRESS, SIGNS, answers
from tests.fakes.telegram_html import text_of

MEASURES = st.sampled_from([utf16_units, utf8_bytes, len])
SAID_AGAIN = list(f"({ADDRESS})")
LIMITS = st.integers(60, 400)


def letters(text: str) -> str:
    """Without spaces, which a cut may take the place of, and what is said again after one."""
    return "".join(signs(text))


def signs(text: str) -> list[str]:
    """What a person sees, one by one, without spaces, marks of quotes and addresses of links."""
    found: list[str] = []
    start = 0
    for place in range(1, len(text) + 1):
        if may_cut(text, place):
            sign = text[start:place]
            start = place
            if sign.strip() and sign != ">":
                found.append(sign)
        if found[-len(SAID_AGAIN) :] == SAID_AGAIN:
            del found[-len(SAID_AGAIN) :]
    return found


@given(answers, LIMITS, MEASURES)
def test_nothing_is_lost_and_no_part_is_too_long(
    markdown: str, limit: int, measure: Measure
) -> None:
    parts = split(markdown, limit, measure)
    shown = [to_plain(part) for part in parts]
    assert all(measure(one) <= limit for one in shown)
    assert letters("\n".join(shown)) == letters(to_plain(markdown))


@given(answers, LIMITS)
def test_what_telegram_counts_is_within_the_limit_too(markdown: str, limit: int) -> None:
    for part in split(markdown, limit, utf16_units):
        assert utf16_units(text_of(to_html_telegram(part))) <= limit


@given(answers, LIMITS)
def test_no_sign_is_torn(markdown: str, limit: int) -> None:
    parts = split(markdown, limit, utf16_units)
    assert signs("\n".join(map(to_plain, parts))) == signs(to_plain(markdown))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("around", ["{}", "**{}**", "```\n{}\n```", "> {}", "- {}"])
def test_every_limit_leaves_every_sign_whole(sign: str, around: str) -> None:
    for limit in range(16, 34):
        parts = split(around.format(sign * 40), limit, utf16_units)
        assert len(parts) > 1
        for part in parts:
            text = to_plain(part).lstrip("> •")
            assert text == sign * (len(text) // len(sign)), (limit, part)


def test_a_code_block_is_closed_and_opened_again() -> None:
    code = "\n".join(f"    line_{n} = {n}" for n in range(40))
    parts = split(f"Look:\n\n```python\n{code}\n```\n\nThat is all.", 200, utf16_units)
    fenced = [part for part in parts if "```" in part]
    assert len(fenced) > 2
    for part in fenced:
        blocks = [span for span in read(part).spans if span.style is Style.BLOCK]
        assert [span.value for span in blocks] == ["python"]
        assert "```" not in to_plain(part)
    # Lines of code are cut at their ends, and keep the spaces they begin with
    lines = [line for part in parts for line in to_plain(part).splitlines() if "line_" in line]
    assert lines == code.splitlines()


def test_a_link_stays_whole_and_a_style_goes_on_in_the_next_part() -> None:
    link = "[the manual](https://example.org/manual)"
    parts = split(f"**{('word ' * 30).strip()}** {link}", 100, utf16_units)
    assert sum("(<https://example.org/manual>)" in part or link in part for part in parts) == 1
    assert sum(any(span.style is Style.BOLD for span in read(part).spans) for part in parts) >= 2


def test_an_address_longer_than_a_part_is_shown_as_the_words_it_is() -> None:
    address = f"https://example.org/{'a1b2' * 100}"
    parts = split(f"[here]({address})", 100, utf16_units)
    assert letters("".join(map(to_plain, parts))) == f"here({address})"


def test_a_cut_is_made_between_paragraphs_where_that_is_possible() -> None:
    paragraphs = [f"Paragraph {n}. {'word ' * 12}".strip() for n in range(6)]
    parts = split("\n\n".join(paragraphs), 160, utf16_units)
    assert [paragraph for part in parts for paragraph in part.split("\n\n")] == paragraphs
    assert len(parts) == 3


def test_a_long_paragraph_is_cut_after_a_sentence_then_after_a_word() -> None:
    sentences = "This is one sentence of it. " * 10
    assert all(to_plain(part).endswith(".") for part in split(sentences, 100, utf16_units))
    assert all(to_plain(part).endswith("word") for part in split("word " * 99, 100, utf16_units))


def test_what_fits_is_left_as_it_was_written() -> None:
    assert split("*a*  \n\n\n b ", 100, utf16_units) == ("*a*  \n\n\n b ",)
    assert split("", 100, utf16_units) == ("",)


def test_a_reference_in_another_part_is_resolved() -> None:
    text = f"See [this][1].\n\n{'word ' * 40}\n\n[1]: https://example.org/x\n"
    shown = [to_plain(part) for part in split(text, 120, utf16_units)]
    assert shown[0].startswith("See this (https://example.org/x).")
    assert "[1]" not in "".join(shown)


def test_one_sign_that_is_longer_than_a_part_is_cut_all_the_same() -> None:
    parts = split("a" + "\u0301" * 100, 40, utf16_units)
    assert "".join(map(to_plain, parts)) == "a" + "\u0301" * 100
    assert all(utf16_units(to_plain(part)) <= 40 for part in parts)
