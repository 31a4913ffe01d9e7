"""The benchmark of what is understood: right, asked and wrong are told apart."""

import json
from pathlib import Path

import pytest

from scripts.lib.bench import language

FILES = {
    "en": {
        "HassTurnOn/name_only": {
            "entities": [{"domain": "light", "name": "Reading Nook"}],
            "tests": [
                {"sentences": ["turn on the reading nook"], "slots": {"name": "Reading Nook"}}
            ],
        },
        "HassTurnOff/name_only": {
            "entities": [{"domain": "light", "name": "Reading Nook"}],
            "tests": [
                # The slots say another thing than the sentence does
                {"sentences": ["turn off the pump"], "slots": {"name": "Reading Nook"}},
                {"sentences": ["reading nook hence"], "slots": {"name": "Reading Nook"}},
            ],
        },
    }
}


def test_each_wrong_act_is_shown_with_its_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sentences.json").write_text(json.dumps(FILES))
    assert language.main(["--data", str(tmp_path), "--missed", "all"]) == 1
    shown = capsys.readouterr().out
    assert "Wrong acts: 1 of 3 sentences" in shown
    assert "'turn off the pump' -> board_gpio_write" in shown
    assert "'reading nook hence' -> " in shown
    assert "| on/off by name | 33 (3)" in shown
    assert "101 / 0" in shown


def test_a_folder_without_sentences_is_an_error(tmp_path: Path) -> None:
    assert language.main(["--data", str(tmp_path)]) == 2
