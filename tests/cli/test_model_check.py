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
def test_without_a_service_there_is_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check"]) == exits.USAGE
    assert "provider.kind" in capsys.readouterr().err


def test_every_difference_is_a_line_to_report(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LlmThread() as service:
        config.write_text(
            f'[provider]\nbase_url = "{service.server.base_url}"\nmodel = "another"\n'
            'api_key = "sk-canary"\n'
        )
        assert main(["models", "check"]) == exits.FAILED
        said = capsys.readouterr().out
        assert main(["models", "check", "--json"]) == exits.FAILED
    # It lists another model, ends no answer at a limit, and takes tools and their results
    assert "differs: list of models - 1 listed, another is not among them" in said
    assert "differs: limit of tokens" in said
    assert "right: result of a tool - taken and answered" in said
    assert "open: answer under a schema" in said
    assert "Report these lines" in said
    told = capsys.readouterr().out
    assert "canary" not in said + told
    assert len(json.loads(told)["findings"]) == 7
