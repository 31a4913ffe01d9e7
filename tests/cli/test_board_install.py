"""`barnacle board install`: what is here, and what it says where nothing can be done."""

import json
import subprocess
from pathlib import Path

import pytest

from agent.blank import carried
from agent.blank.board_state import SlotPlace
from agent.blank.boot_loader import BootLoader
from agent.cli import board_install
from agent.cli.main import main
from agent.link.image import read_archive
from firmware.host import interpreter
from firmware.host.bundle import BundledFile
from firmware.host.image import (
    board_bundle,
    image,
    image_of,
    installed,
    installed_of,
    joined,
    start_archive,
)
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.prompt_board import prompt_board


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command, on a machine with the firmware of one board and nothing plugged in."""
    name = "weact_blackpill_f411"
    (tmp_path / f"{name}.fw").write_bytes(image(name))
    (tmp_path / f"{name}.start").write_bytes(start_archive(name, installed(name)))
    config = tmp_path / "barnacle.toml"
    config.write_text('[board]\nport = "/no/such/port"\n')
    monkeypatch.setattr(carried.carried_boards, "__defaults__", (tmp_path, tmp_path / "none"))
    monkeypatch.setattr(board_install, "boot_loaders", lambda: ())
    monkeypatch.setattr(board_install, "serial_devices", list)
    state = ["--state-dir", str(tmp_path / "state")]
    return ["board", "install", "--config", str(config), *state]


def test_without_a_board_it_says_what_can_be_done(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "weact_blackpill_f411: firmware; MicroPython must be on it" in said
    assert "hold BOOT0, press reset" in said


def test_a_boot_loader_is_shown_with_its_flash(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = BootLoader("1-1.2", "1-1.2 7", "@Internal Flash  /0x08000000/04*016Kg")
    monkeypatch.setattr(board_install, "boot_loaders", lambda: (loader,))
    assert main(command) == 0
    assert "In its boot loader at USB port 1-1.2: @Internal Flash" in capsys.readouterr().out


def test_a_board_that_is_not_known_is_refused_with_the_names(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "toaster"]) != 0
    assert "there are weact_blackpill_f411" in capsys.readouterr().err


@pytest.mark.skipif(bool(unavailable_reason()), reason=str(unavailable_reason()))
def test_another_board_than_was_named_is_refused_and_keeps_all(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = "import sys; print(sys.implementation._machine)"
    machine = subprocess.check_output([*interpreter.find(), "-c", asked], text=True).strip()
    for name, machines in (("weact_blackpill_f411", ["WEACT"]), ("nucleo_f446re", [machine])):
        files = board_bundle(name)
        (tmp_path / f"{name}.fw").write_bytes(image_of(name, files, SlotPlace.FILES))
        start = read_archive(
            start_archive(name, installed_of(name, files, place=SlotPlace.FILES)), 100_000
        )
        start["about.json"] = json.dumps({"machines": machines}).encode()
        joint = joined([BundledFile(target, content) for target, content in start.items()])
        (tmp_path / f"{name}.start").write_bytes(joint)
    (flash := tmp_path / "flash").mkdir()
    with prompt_board(flash) as path:
        (tmp_path / "barnacle.toml").write_text(f'[board]\nport = "{path}"\n')
        assert main([*command, "weact_blackpill_f411"]) != 0
    assert "it is a nucleo_f446re, not a weact_blackpill_f411" in capsys.readouterr().err
    assert not (flash / "main.py").exists()


def test_with_nothing_plugged_in_it_says_how_a_board_gets_into_its_boot_loader(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "weact-blackpill-f411"]) != 0
    assert "hold BOOT0" in capsys.readouterr().err


def test_two_boot_loaders_are_one_too_many(
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "barnacle.toml").write_text("")
    loaders = (BootLoader("1-1", "a"), BootLoader("1-2", "b"))
    monkeypatch.setattr(board_install, "boot_loaders", lambda: loaders)
    assert main([*command, "weact_blackpill_f411"]) != 0
    assert "leave one plugged in" in capsys.readouterr().err


def test_the_card_s_lack_of_micropython_is_said(
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "barnacle.toml").write_text("")
    monkeypatch.setattr(board_install, "boot_loaders", lambda: (BootLoader("1-1", "a"),))
    assert main([*command, "weact_blackpill_f411"]) != 0
    assert "no MicroPython for weact_blackpill_f411" in capsys.readouterr().err
