"""Telling languages apart."""

import tomllib
from pathlib import Path

import pytest

from agent.providers.offline.language import detect
from agent.providers.offline.lexicon import LANGUAGES

UTTERANCES = Path(__file__).parent / "utterances"
SENTENCES = tomllib.loads((Path(__file__).parent / "languages.toml").read_text("utf-8"))


@pytest.mark.parametrize("code", LANGUAGES)
def test_nearly_every_utterance_is_in_the_language_of_its_table(code: str) -> None:
    tables = tomllib.loads((UTTERANCES / f"{code}.toml").read_text("utf-8"))
    said = [utterance for table in tables.values() for utterance in table]
    wrong = [utterance for utterance in said if detect(utterance) != code]
    # "Was trinkt Anna lieber?" has no German word that is not English too
    assert len(wrong) <= len(said) / 50, wrong


@pytest.mark.parametrize("code", list(SENTENCES))
def test_sentences_about_anything_are_told_apart(code: str) -> None:
    wrong = [said for said in SENTENCES[code] if detect(said) != code]
    assert len(SENTENCES[code]) == 40
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize(
    ("said", "previous", "code"),
    [
        ("LED", "ja", "ja"),
        ("24", "de", "de"),
        ("", "ko", "ko"),
        ("???", "zh", "zh"),
        ("Привет", "es", "es"),
        ("温度", "ja", "ja"),
        ("温度?", "zh", "zh"),
        ("remember that my sister is called 小美", "zh", "en"),
        ("ninety", "en", "en"),
    ],
)
def test_what_is_in_no_language_is_in_the_one_before(said: str, previous: str, code: str) -> None:
    assert detect(said, previous) == code


@pytest.mark.parametrize(
    "said",
    [
        "Mach bitte ds Liecht i dr Chuchi aa",
        "Stell en Timer uf zäh Minute",
        "Wie lang gaht de Wecker no?",
        "Tue füf Minute derzue",
        "Isch d Türe zue?",
        "Was isch hüt für en Tag?",
        "Hesch du gärn Chääs?",
        "Mir gö hüt a See, es isch so schön",
        "Chasch mer säge, wie warm s isch?",
        "D Chatz het scho wider Hunger",
    ],
)
def test_swiss_german_is_german(said: str) -> None:
    assert detect(said) == "de"


@pytest.mark.parametrize(
    ("said", "code"), [("no", "es"), ("de la", "fr"), ("no, not a store", "en"), ("de het", "nl")]
)
def test_a_dialect_takes_no_word_from_another_language(said: str, code: str) -> None:
    assert detect(said, code) == code
