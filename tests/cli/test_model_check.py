import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from tests.fakes.llm_thread import LlmThread
from tests.fakes.sandbox import no_bubblewrap


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


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
def test_a_program_is_asked_like_a_service(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = '<tool_call>{"name": "light_switch", "arguments": {"value": "on"}}</tool_call>'
    script = f"if grep -q tool_call; then echo '{call}'; else echo one two three; fi"
    config.write_text(
        '[provider]\nkind = "program"\n[provider.program]\n'
        f'command = ["sh", "-c", {json.dumps(script)}]\n'
    )
    assert main(["models", "check"]) == exits.OK
    said = capsys.readouterr().out
    assert "sh (program), model sh" in said
    assert "right: answer - 1 pieces" in said
    assert "list of models" not in said
    assert "too long a conversation - not asked" in said
    assert "right: tools in words - taken; the call comes as text" in said
