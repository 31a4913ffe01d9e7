import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import signal
from agent.cli.main import main
from tests.fakes.signal_daemon import NUMBER, SignalDaemon
from tests.fakes.signal_thread import SignalThread

URI = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"


@pytest.fixture
def daemon() -> Iterator[SignalDaemon]:
    with SignalThread(SignalDaemon(accounts=[])) as running:
        yield running.daemon


def config(folder: Path, url: str) -> str:
    path = folder / "barnacle.toml"
    path.write_text(f'[channels.signal]\nbase_url = "{url}"\n')
    return str(path)


def test_it_links_by_the_daemon_that_runs(
    daemon: SignalDaemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["signal", "link", "--config", config(tmp_path, daemon.url)]) == 0
    told = capsys.readouterr().out
    assert "sgnl://linkdevice?" in told
    assert f"Linked: {NUMBER}." in told
    assert "\x1b" not in told


def test_without_a_daemon_it_links_by_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "signal-cli"
    program.write_text(f"#!/bin/sh\necho '{URI}'\necho 'Associated with: {NUMBER}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert main(["signal", "link", "--config", config(tmp_path, "http://127.0.0.1:1")]) == 0
    told = capsys.readouterr().out
    assert URI in told
    assert f"Linked: {NUMBER}." in told


def test_with_neither_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["signal", "link", "--config", config(tmp_path, "http://127.0.0.1:1")]) == 1
    assert "signal-cli is not on the PATH: install it" in capsys.readouterr().err


def test_in_a_terminal_the_code_is_white_on_black(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    signal.show(URI)
    first, *_ = screen.getvalue().split("\n")
    assert first.startswith("\x1b[97;40m█")
    assert first.endswith("\x1b[0m")
