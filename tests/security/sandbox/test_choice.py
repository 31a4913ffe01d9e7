import socket
from pathlib import Path

import pytest

from agent.security.sandbox import choice as sandbox_choice
from agent.security.sandbox.choice import choose
from tests.fakes.sandbox import no_bubblewrap


def test_the_unit_of_systemd_goes_before_everything_else(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        choice = choose(tmp_path, tmp_path / "s")
    assert choice.sandbox is not None
    assert (choice.sandbox.name, choice.trouble) == ("systemd", "")


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
def test_bubblewrap_is_chosen_where_it_works(tmp_path: Path) -> None:
    (tmp_path / "no-socket").touch()
    choice = choose(tmp_path, tmp_path / "no-socket")
    assert choice.sandbox is not None
    assert choice.sandbox.name == "bubblewrap"


def test_what_cannot_keep_apart_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\nprintf 'No permissions\\033[2J' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(sandbox_choice, "find_program", lambda: str(refusing))
    choice = choose(tmp_path, tmp_path / "nothing")
    assert choice.sandbox is None
    assert "cannot create namespaces here (No permissions" in choice.trouble
    assert choice.trouble.isprintable()


def test_with_nothing_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_choice, "find_program", lambda: None)
    choice = choose(tmp_path, tmp_path / "nothing")
    assert choice.sandbox is None
    assert "sudo apt install bubblewrap" in choice.trouble


def test_a_long_reason_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(f"#!/bin/sh\nprintf '{'x' * 1000}' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(sandbox_choice, "find_program", lambda: str(refusing))
    assert 100 < choose(tmp_path, tmp_path / "nothing").trouble.count("x") < 130
