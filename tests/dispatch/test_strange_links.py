import pytest

from agent.dispatch.strange_links import without_strange_links
from agent.messages import Provenance


def shown(text: str, said: str = "") -> str:
    return without_strange_links(text, Provenance.WEB, said)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("[here](https://evil.example/?q=secret)", "here (`https://evil.example/?q=secret`)"),
        ("![cat](https://evil.example/c.png)", "cat (`https://evil.example/c.png`)"),
        ("![](https://evil.example/c.png)", "`https://evil.example/c.png`"),
        ("[a](<https://evil.example/x> 'title')", "a (`https://evil.example/x`)"),
        ("<https://evil.example>", "`https://evil.example`"),
        ("see https://evil.example/a_b, ok", "see `https://evil.example/a_b,` ok"),
        ("[1]: https://evil.example", "[1]: `https://evil.example`"),
        ("[a](tg://resolve?domain=x)", "a (`tg://resolve?domain=x`)"),
        ("`https://evil.example` [x] (y)", "`https://evil.example` [x] (y)"),
    ],
)
def test_a_strangers_link_is_text(text: str, safe: str) -> None:
    assert shown(text) == safe
    assert shown(safe) == safe


def test_a_host_that_the_person_named_stays_a_link() -> None:
    text = "[manual](https://st.example/m.pdf) [other](https://st.example.evil/m.pdf)"
    kept = shown(text, said="what is on https://st.example/?")
    assert kept == "[manual](https://st.example/m.pdf) other (`https://st.example.evil/m.pdf`)"


def test_what_the_owner_or_the_model_said_is_left_alone() -> None:
    text = "[here](https://example.org)"
    assert without_strange_links(text, Provenance.MODEL, "") == text
