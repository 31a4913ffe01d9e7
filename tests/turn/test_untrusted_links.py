import pytest

from agent.channels.render.plain import to_plain
from agent.messages import Provenance
from agent.text.links import without_links
from agent.turn.untrusted_links import without_strange_links


def shown(text: str, said: str = "") -> str:
    return without_strange_links(text, Provenance.WEB, said)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("[here](https://evil.example/?q=a)", "here (https[:]//evil[.]example/?q=a)"),
        ("![cat](https://evil.example/c.png)", "cat (https[:]//evil[.]example/c.png)"),
        ("![](https://evil.example/c.png)", "https[:]//evil[.]example/c.png"),
        ("[a](<https://evil.example/x> 'title')", "a (https[:]//evil[.]example/x)"),
        ("<https://evil.example>", "https[:]//evil[.]example"),
        ("see evil.example/a_b, ok", "see evil[.]example/a_b, ok"),
        ("[1]: https://evil.example", r"\[1\]\[:\] https\[:\]//evil\[.\]example"),
        ("[a](tg://resolve?domain=x)", "a (tg[:]//resolve?domain=x)"),
        ("`https://evil.example` [x] (y)", "`https[:]//evil[.]example` [x] (y)"),
        ("evil&#46;example", r"evil\[.\]example"),
        ("**Note:** it is 21.5 °C at 12:30 in `a.json`.", None),
        ("- one\n- two (see 3.4)", None),
    ],
)
def test_a_link_is_text(text: str, safe: str | None) -> None:
    assert shown(text) == (text if safe is None else safe)
    assert shown(shown(text)) == shown(text)


def test_an_address_that_the_person_wrote_stays_and_no_other_of_its_host() -> None:
    said = "what is on https://st.example/m.pdf?"
    text = "[manual](https://st.example/m.pdf) st.example/m.pdf https://st.example/m.pdf?d=x"
    kept = "[manual](<https://st.example/m.pdf>) st.example/m.pdf https[:]//st[.]example/m.pdf?d=x"
    assert shown(text, said) == kept
    assert shown("<https://st.example/m.pdf>", said) == "<https://st.example/m.pdf>"
    assert shown("see https://st.example/M.pdf", said) == "see https[:]//st[.]example/M.pdf"


def test_words_that_hide_an_address_show_it_beside_one_that_stays() -> None:
    text = "[a](https://st.example/m) evil&period;example [b][c]"
    assert "evil\\[.\\]example" in shown(text, "https://st.example/m")


@pytest.mark.parametrize(
    "text",
    [
        *("see evil\x1f.example/?d=diary", "evil\x85.example", "//a\x1f.json/diary"),
        *("1.2.3\x013.4", "w\x01ww.a1", "\ud800w\ud800ww\ud800.\ud800a1"),
        # Longer than what is read as Markdown
        "evil\r.example " + "a " * 140_000,
    ],
)
def test_what_no_platform_shows_hides_no_link(text: str) -> None:
    seen = to_plain(shown(text))
    assert without_links(seen) == seen


def test_a_carriage_return_still_ends_a_line() -> None:
    assert shown("a\r\nb\rc\x07") == "a\nb\nc"


@pytest.mark.parametrize("trust", [trust for trust in Provenance if trust < Provenance.OWNER])
def test_whatever_is_below_the_owner_has_no_links(trust: Provenance) -> None:
    assert without_strange_links("evil.example", trust, "") == "evil[.]example"


def test_what_only_the_owner_had_a_part_in_is_left_alone() -> None:
    text = "[here](https://example.org)"
    assert without_strange_links(text, Provenance.OWNER, "") == text
