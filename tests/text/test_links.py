import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkify_it.tlds import TLDS

from agent.text.links import _FILES, is_target, targets, untied, without_links


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("evil.com/?d=diary", "evil[.]com/?d=diary"),
        ("www.a1 WWW2.x", "www[.]a1 WWW2[.]x"),
        ("https://a@evil.com", "https[:]//a[@]evil[.]com"),
        ("mailto:a tel:+49 tg:x magnet:?xt", "mailto[:]a tel[:]+49 tg[:]x magnet[:]?xt"),
        ("1.2.3.4:80/x", "1[.]2[.]3[.]4:80/x"),
        ("@anna hi", "[@]anna hi"),
        ("evil．com evil｡com evil。com evil․com", "evil[．]com evil[｡]com evil[。]com evil[․]com"),
        ("evil\u200b.\u00adcom https:\u200b//x", "evil\u200b[.]\u00adcom https[:]\u200b//x"),
        ("https：//x", "https[:]//x"),
        ("main.py end.Next пример.рф 1.打开", "main[.]py end[.]Next пример[.]рф 1[.]打开"),
        ("x.com_a x.json-a x.json.com", "x[.]com_a x[.]json-a x.json[.]com"),
        ("a" * 200 + ".json", "a" * 200 + "[.]json"),
        # Any word is a domain behind two slashes
        ("//a.json //a.\u200b //1.5/x.json", "//a[.]json //a[.]\u200b //1[.]5/x.json"),
        ("zwww.-", "zwww[.]-"),
        ("|。com *.py x。vermögensberatung", "|[。]com *[.]py x[。]vermögensberatung"),
        ("a@-.b", "a[@]-.b"),
        # These schemes are known wherever they stand, the others behind marks of an address
        ("wwwsip:! mailto:.x skype:<", "wwwsip[:]! mailto[:].x skype[:]<"),
        ("<evil:!> x](evil:! ]( \nevil: y", "<evil[:]!> x](evil[:]! ]( \nevil[:] y"),
        # A control character is left out by what shows the text
        ("tel:\x0cx www\x85.\x1fx", "tel[:]\x0cx www\x85[.]\x1fx"),
        # The brackets make no link of what follows them
        ("tel:(5) www.((x", "tel[:(]5) www[.((]x"),
    ],
)
def test_what_could_be_a_link_is_shown_in_brackets(text: str, safe: str) -> None:
    assert without_links(text) == safe


@pytest.mark.parametrize(
    "text",
    [
        "It is 21.5 °C, 3.3 V, v1.2.3, 12:30 and 2026-11-22T12:30:15.",
        "e.g. z.B. U.S.A. a.b std::vector C:\\x :smile: fe80::1",
        "board.toml, notes.txt; app.js! (photo.jpg) archive.tar.gz",
        "Note: 5. Then: `x`",
        "你好。再见 STM32。今天",
        "**Bold:** and a @ b",
        "Well...maybe (see notes).Next",
        "std::map, x ? y : z, a//b // c",
        "สวัสดี नमस्ते 👨‍👩‍👧 ❤️",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert without_links(text) == text


def test_no_ending_of_a_file_is_a_domain() -> None:
    """The list of domains grows: an ending that becomes one is no longer let pass."""
    assert not _FILES & {tld.lower() for tld in TLDS}


def test_an_address_that_somebody_wrote_is_known_to_the_letter() -> None:
    known = targets("see (https://a.example/x), or b.example/! and c")
    assert known == {"a.example/x", "b.example"}
    assert is_target("http://a.example/x", known)
    assert not is_target("https://a.example/X", known)
    assert not is_target("https://a.example/x?d=1", known)
    assert not is_target("", targets(""))
    assert without_links("(https://a.example/x).", known) == "(https://a.example/x)."
    assert without_links("https://a.example/x,evil.com", known) != "https://a.example/x,evil.com"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("[a](b) [c] (d)", "[a][(]b) [c] (d)"),
        ("[1]: x\n> - [a\\]b]: y", "[1][:] x\n> - [a\\]b][:] y"),
        ("see a[1]: x", "see a[1]: x"),
    ],
)
def test_marks_that_tie_an_address_to_words_are_shown_in_brackets(text: str, safe: str) -> None:
    assert untied(text) == safe
    assert untied(safe) == safe


def test_code_keeps_its_marks_save_before_an_address() -> None:
    code = "calls[0](pin) [x]: y"
    assert untied(code, is_code=True) == code
    shown = untied("[a](https[:]//evil[.]com)\n[1]: evil[.]com", is_code=True)
    assert shown == "[a][(]https[:]//evil[.]com)\n[1][:] evil[.]com"


@given(st.text(alphabet="ab1.:/@。\u200b\u0301[]_- \n") | st.text())
def test_doing_it_twice_changes_nothing_and_nothing_is_lost(text: str) -> None:
    once = without_links(text)
    assert without_links(once) == once
    assert [c for c in once if c not in "[]:："] == [c for c in text if c not in "[]:："]


@pytest.mark.parametrize(
    "piece",
    ["a.", "a:", "1.", "@", "a\u200b", "www.", "\u0301", "://", "ab", "](", "\n[", "](a:", "//a"],
)
def test_a_long_text_of_one_kind_is_read_in_the_end(piece: str) -> None:
    text = piece * 20_000
    assert len(untied(without_links(text))) >= len(text)
