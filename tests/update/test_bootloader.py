"""What the Pi's boot loader reads, changed a letter at a time."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UpdateRefused
from agent.update import bootloader
from image.lib import layout


@pytest.fixture
def firmware(tmp_path: Path) -> Path:
    (tmp_path / "config.txt").write_text(layout.config_txt("A"))
    return tmp_path


def test_only_one_letter_is_written_and_the_file_stays_where_it_is(
    firmware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = firmware / "config.txt"
    before = config.stat()
    written: list[bytes] = []
    real = os.pwrite

    def noted(handle: int, content: bytes, at: int) -> int:
        written.append(content)
        return real(handle, content, at)

    monkeypatch.setattr(os, "pwrite", noted)
    bootloader.select(firmware, "B")
    assert written == [b"B"]
    assert config.read_text() == layout.config_txt("B")
    assert (config.stat().st_ino, config.stat().st_size) == (before.st_ino, before.st_size)


def test_nothing_is_written_where_nothing_changes(
    firmware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> int:
        raise AssertionError

    monkeypatch.setattr(os, "pwrite", never)
    bootloader.select(firmware, "A")


def test_a_trial_is_offered_and_withdrawn_beside_it(firmware: Path) -> None:
    bootloader.offer(firmware, "B")
    assert (firmware / "tryboot.txt").read_text() == layout.config_txt("B")
    assert bootloader.configured(firmware) == "A"
    bootloader.withdraw(firmware)
    bootloader.withdraw(firmware)
    assert not (firmware / "tryboot.txt").exists()


def test_line_ends_of_another_system_are_understood(firmware: Path) -> None:
    config = firmware / "config.txt"
    config.write_bytes(config.read_bytes().replace(b"\n", b"\r\n"))
    bootloader.select(firmware, "B")
    assert b"os_prefix=B/\r\n" in config.read_bytes()


@pytest.mark.parametrize(
    "content", ["", "#os_prefix=A/\n", "os_prefix=A/\nos_prefix=B/\n", "os_prefix=C/\n"]
)
def test_a_file_that_names_no_slot_or_two_is_left_alone(firmware: Path, content: str) -> None:
    (firmware / "config.txt").write_text(content)
    with pytest.raises(UpdateRefused, match="exactly one line"):
        bootloader.select(firmware, "B")
    assert (firmware / "config.txt").read_text() == content


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UpdateRefused, match=r"cannot read .*config\.txt"):
        bootloader.configured(tmp_path)


def test_the_note_of_the_letter_is_added_and_taken_away_in_its_place(
    firmware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootloader, "_place_on_partition", lambda _path, at: 512 + at)
    line = firmware / "B/cmdline.txt"
    line.parent.mkdir()
    line.write_text("root=PARTUUID=x barnacle.slot=B\n")
    at = (firmware / "config.txt").read_bytes().index(b"A/")
    bootloader.note_letter(firmware, "B")
    assert line.read_text() == f"root=PARTUUID=x barnacle.slot=B barnacle.switch={512 + at}\n"
    size_bytes = line.stat().st_size
    bootloader.forget_letter(firmware, "B")
    assert line.read_text().split() == ["root=PARTUUID=x", "barnacle.slot=B"]
    assert line.stat().st_size == size_bytes
    assert not bootloader.is_noted(firmware, "B")


def test_a_trial_that_is_asked_for_again_has_one_note_still(
    firmware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that stayed would name the version before again in every start of the kept one."""
    monkeypatch.setattr(bootloader, "_place_on_partition", lambda _path, at: 512 + at)
    line = firmware / "B/cmdline.txt"
    line.parent.mkdir()
    line.write_text("root=PARTUUID=x barnacle.slot=B\n")
    for _ in range(3):
        bootloader.note_letter(firmware, "B")
    assert line.read_text().count("barnacle.switch=") == 1
    # Those of an earlier version
    line.write_text("barnacle.slot=B barnacle.switch=1 barnacle.switch=22\n")
    bootloader.forget_letter(firmware, "B")
    assert line.read_text().split() == ["barnacle.slot=B"]
