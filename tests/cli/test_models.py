import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "API_KEY", "BARNACLE_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "barnacle.toml"
    file.write_text("")
    monkeypatch.setenv("BARNACLE_CONFIG", str(file))
    return file


@pytest.fixture
def service_url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.fakes.llm_server", "--obedient"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.usefixtures("config")
def test_the_services_are_listed_with_their_keys_and_addresses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-canary")
    assert main(["models", "--services"]) == exits.OK
    said = capsys.readouterr().out
    assert "GROQ_API_KEY (set)" in said
    assert "xai, grok" in said
    assert "canary" not in said
    assert main(["models", "--services", "--json"]) == exits.OK
    listed = json.loads(capsys.readouterr().out)
    assert {"openai", "ollama", "anthropic"} & {service["name"] for service in listed}


def test_the_models_of_a_service_are_asked_for(
    config: Path, service_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f'[provider]\nkind = "custom:{service_url}"\n')
    assert main(["models"]) == exits.OK
    assert capsys.readouterr().out == "fake-model\n"
    assert main(["models", "--json"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {"service": "custom", "models": ["fake-model"]}


@pytest.mark.usefixtures("config")
def test_without_a_service_the_way_to_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == exits.USAGE
    assert "barnacle models openai" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"), [("grq", "did you mean 'groq'"), ("groq", "GROQ_API_KEY")]
)
def test_a_service_that_cannot_be_asked_is_explained(
    capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    assert main(["models", name]) == exits.USAGE
    assert said in capsys.readouterr().err


def test_a_program_lists_no_models(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text('[provider]\nkind = "program"\n[provider.program]\ncommand = ["cat"]\n')
    assert main(["models"]) == exits.OK
    assert capsys.readouterr().out.startswith("cat does not list its models")
    assert main(["models", "--services"]) == exits.OK
    assert "and program for a program that answers" in capsys.readouterr().out
