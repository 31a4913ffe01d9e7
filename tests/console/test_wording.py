import re

import pytest

from agent.console.wording import LANGUAGES, chosen, wording

_SLOT = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_every_text_with_the_same_values_in_it(code: str) -> None:
    here, english = wording(code).texts, wording("en").texts
    assert here.keys() == english.keys()
    for key, text in english.items():
        assert text.strip()
        assert here[key].strip(), key
        assert set(_SLOT.findall(here[key])) == set(_SLOT.findall(text)), key


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_is_its_own(code: str) -> None:
    """A sentence that is the same in two languages was not translated."""
    here, english = wording(code).texts, wording("en").texts
    sentences = [key for key, text in english.items() if text.count(" ") > 3]
    same = [key for key in sentences if here[key] == english[key]]
    assert same == (sentences if code == "en" else [])


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_stop_is_called_what_stands_on_it(code: str) -> None:
    """Who speaks to a browser says the word that they see."""
    texts = wording(code).texts
    assert texts["stop.button"].casefold() in texts["stop.about"].casefold()


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr-FR,fr;q=0.9", "en"),
        ("fr;q=1.0, zh-TW;q=0.5, ko;q=0.7", "ko"),
        ("ja;q=x, es", "es"),
        ("*;q=0.1", "en"),
        (",".join(["xx"] * 1000), "en"),
    ],
)
def test_the_browser_says_what_its_visitor_reads(accepted: str, code: str) -> None:
    assert chosen(accepted).code == code
