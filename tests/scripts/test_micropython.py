"""Which MicroPython is taken, with programs that claim to be one."""

import shlex
import subprocess
from pathlib import Path

import pytest

from scripts.lib import micropython


def claim(path: Path, version: str) -> Path:
    """A program that answers as an interpreter of this version would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ncase "$1" in -c) echo "{version}";; *) echo "$@";; esac\n')
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def made_by(*arguments: str) -> str:
    return subprocess.run(
        arguments, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    ).stdout


def test_the_chosen_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = claim(tmp_path / "my own/it's micropython", "1 26 0")
    monkeypatch.setenv("BARNACLE_MICROPYTHON", shlex.quote(str(chosen)))
    assert micropython.main([str(tmp_path / "out")]) == 0
    assert made_by(str(tmp_path / "out/micropython"), "two words", "*") == "two words *\n"


def test_one_on_the_path_is_taken_when_it_is_new_enough(tmp_path: Path) -> None:
    claim(tmp_path / "bin/micropython", "1 24 0")
    assert micropython.main([str(tmp_path / "out")]) == 0
    assert made_by(str(tmp_path / "out/micropython"), "-c") == "1 24 0\n"


@pytest.mark.parametrize("version", ["1 23 9", "", "no numbers", "0"])
def test_what_is_too_old_or_none_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: str,
) -> None:
    monkeypatch.setenv("BARNACLE_MICROPYTHON", str(claim(tmp_path / "mine", version)))
    assert micropython.main([str(tmp_path / "out")]) == 1
    assert "no MicroPython 1.24 or newer" in capsys.readouterr().err
    assert not (tmp_path / "out/micropython").exists()


def test_without_any_source_the_message_names_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim(tmp_path / "bin/micropython", "1 19 0")
    assert micropython.main([str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert "no apt-get" in told
    assert "Set BARNACLE_MICROPYTHON" in told


@pytest.mark.parametrize(
    ("os_release", "suite"),
    [
        ('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n', "trixie"),
        ('ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n', "trixie"),
        ('ID=debian\nVERSION_ID="14"\nVERSION_CODENAME=forky\n', "forky"),
        ("ID=debian\nVERSION_CODENAME=sid\n", "trixie"),
        ('ID=other\nVERSION_ID="40"\nVERSION_CODENAME=forty\n', "trixie"),
        (None, "trixie"),
    ],
)
def test_the_suite_is_the_machines_own_when_that_has_it(
    tmp_path: Path, os_release: str | None, suite: str
) -> None:
    file = tmp_path / "os-release"
    if os_release is not None:
        file.write_text(os_release)
    assert micropython._suite(file) == suite
