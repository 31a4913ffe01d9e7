"""`barnacle setup` in a terminal, asking a service that is really there."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.setup_terminal import SetupTerminal
from tests.structure.sources import ROOT

KEY = "a-key-" + "nobody-may-read"


@pytest.fixture
def service_url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.fakes.llm_server", "--obedient"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def _answer_up_to_the_last(terminal: SetupTerminal, service_url: str) -> None:
    terminal.sees("Which model service?")
    terminal.type(f"custom:{service_url}")
    terminal.sees("Its API key (not shown): ")
    terminal.type(KEY)
    terminal.sees("Good: ")
    terminal.sees("Which model? [fake-model] ")
    terminal.type("")
    terminal.sees("telegram, ")
    terminal.sees("Which platforms, separated by commas? [telegram] ")
    terminal.type("none")
    terminal.sees("[Y/n] ")


def test_what_is_typed_is_tried_out_and_written_and_no_key_is_shown(
    tmp_path: Path, service_url: str
) -> None:
    with SetupTerminal(tmp_path) as terminal:
        _answer_up_to_the_last(terminal, service_url)
        assert not terminal.config.exists()
        terminal.type("")
        assert terminal.ended() == 0
        assert KEY not in terminal.screen
    assert tomllib.loads(terminal.config.read_text())["provider"] == {
        "kind": f"custom:{service_url}",
        "api_key": KEY,
        "model": "fake-model",
    }


def test_who_leaves_at_the_last_question_has_changed_nothing(
    tmp_path: Path, service_url: str
) -> None:
    with SetupTerminal(tmp_path) as terminal:
        _answer_up_to_the_last(terminal, service_url)
        terminal.leave()
        assert terminal.ended() == 130
        assert "Nothing was changed." in terminal.screen
    assert list(tmp_path.iterdir()) == []
