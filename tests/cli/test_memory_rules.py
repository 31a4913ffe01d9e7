import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.cli.memory_rules import WORDS
from agent.memory import ranking


def test_every_weight_has_its_words() -> None:
    weights = {name for name in vars(ranking) if name.endswith("_WEIGHT") and name[0] != "_"}
    assert weights <= WORDS.keys()
    assert weights


def test_rules_are_weights_and_thresholds_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    assert main(["memory", "rules"]) == exits.OK
    said = capsys.readouterr().out
    assert f"{ranking.MEANING_WEIGHT:+.2f}  it has the meaning of the question" in said
    assert "memory.min_score" in said
    main(["memory", "rules", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["weights"]["words"] == ranking.WORDS_WEIGHT
    assert (told["min_score"], told["recall_limit"]) == (0.4, 5)
    assert not (tmp_path / "state").exists()
