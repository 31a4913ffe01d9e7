"""Telling languages apart."""

import tomllib
from pathlib import Path

import pytest

from agent.providers.offline.language import detect

UTTERANCES = Path(__file__).parent / "utterances"


@pytest.mark.parametrize("code", ["en", "zh", "ja", "ko", "de", "es"])
def test_nearly_every_utterance_is_in_the_language_of_its_table(code: str) -> None:
    tables = tomllib.loads((UTTERANCES / f"{code}.toml").read_text("utf-8"))
    said = [utterance for table in tables.values() for utterance in table]
    wrong = [utterance for utterance in said if detect(utterance) != code]
    # "Was trinkt Anna lieber?" has no German word that is not English too
    assert len(wrong) <= len(said) / 50, wrong


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
