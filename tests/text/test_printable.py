import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.printable import printable_line, printable_text, spelled_out


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
    assert re.sub("<U\\+([0-9A-F]{4,6})>", lambda found: chr(int(found[1], 16)), shown) == raw


@given(st.text(alphabet="<U+0A>\u3164a"), st.text(alphabet="<U+0A>\u3164a"))
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (spelled_out(one) == spelled_out(other)) == (one == other)


def test_spelled_out_what_hides_has_a_name_and_the_rest_stays() -> None:
    shown = "rm<U+00A0><U+202E>фыва <U+200D><U+D800>"
    assert spelled_out("rm\u00a0\u202eфыва \u200d\ud800") == shown


# By Unicode's own property, what programs show nothing for: Default_Ignorable_Code_Point
_IGNORABLE = [
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFEFF),
    *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFFA0),
    *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4)),
    *(*range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
]
_HIDING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}


def test_of_all_characters_those_that_hide_have_a_name() -> None:
    hidden = 0
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        kind = unicodedata.category(char)
        if char != " " and (kind in _HIDING or kind.startswith("M") or code in _IGNORABLE_SET):
            hidden += 1
            # A mark that stands on nothing is seen on its neighbour
            assert spelled_out(f"1{char}") == f"1<U+{code:04X}>"
        else:
            assert spelled_out(char) == char
    assert spelled_out("\u2800\ufffc") == "<U+2800><U+FFFC>"
    sys.stdout.write(f"\n{hidden} of {sys.maxunicode + 1} code points have a name\n")


_IGNORABLE_SET = {*_IGNORABLE, 0x2800, 0xFFFC, 0x16FE4, 0x1D159}


@pytest.mark.parametrize(
    "text",
    [
        "हिन्दी में",
        "ภาษาไทยที่นี่",
        "مُحَمَّد",
        "שָׁלוֹם",
        "தமிழ்",
        "বাংলা",
        "한국어",
        "Tiếng Việt",
        "ผู้ใหญ่",
        "日本語が",
    ],
)
def test_spelled_out_every_language_still_reads_well(text: str) -> None:
    assert spelled_out(unicodedata.normalize("NFC", text)) == unicodedata.normalize("NFC", text)


def test_marks_of_no_script_and_piles_of_marks_have_names() -> None:
    assert spelled_out("e\u0301 \u2764\ufe0f") == "e<U+0301> \u2764<U+FE0F>"
    assert spelled_out("\u0915" + "\u093f" * 5) == "\u0915\u093f\u093f\u093f<U+093F><U+093F>"


def test_ordinary_answers_keep_marks_and_joiners() -> None:
    for text in ("हिन्दी", "مُحَمَّد", "❤️", "👨\u200d👩", "e\u0301"):
        assert printable_text(text, 20) == text


@given(st.text(st.characters(max_codepoint=0x2FFF)), st.integers(1, 40))
def test_what_is_not_looked_at_letter_by_letter_is_the_same(text: str, limit: int) -> None:
    assert printable_line(text, limit) == printable_line(f"{text}\u200e", limit)
    assert printable_text(text, limit) == printable_text(f"{text}\u200e", limit)
