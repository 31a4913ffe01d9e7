import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from tests.fakes.llm_thread import LlmThread


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "API_KEY", "BARNACLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "barnacle.toml"
    file.write_text("")
    monkeypatch.setenv("BARNACLE_CONFIG", str(file))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    return file


@pytest.mark.usefixtures("config")
def test_without_a_model_there_is_nothing_to_probe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "probe"]) == exits.USAGE
    assert "provider.kind" in capsys.readouterr().err


def test_a_model_is_told_by_what_it_did(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LlmThread() as service:
        config.write_text(
            f'[provider]\nbase_url = "{service.server.base_url}"\nmodel = "obedient"\n'
            "context_tokens = 4096\n"
        )
        assert main(["models", "probe"]) == exits.OK
        said = capsys.readouterr().out
        # It knows a few English phrases word for word, and believes all it is told
        assert "calls: Turn the led on. - right" in said
        assert "languages: Schalte bitte die LED ein. - moved nothing instead of led on" in said
        assert "repair: Turn the heater on. - right" in said
        assert "| what" in said
        assert "window 4096" in said
        assert main(["models", "probe", "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == "obedient"
    assert told["skills"]["languages"]["trust"] == "no"
    assert sum(one["tasks"] for one in told["skills"].values()) == told["tasks"] == 20
