"""A build machine without systemd learns to run programs for arm64 without a person's help."""

from pathlib import Path

import pytest

from image.lib import foreign
from image.lib.emulated import guest

_RULE = ":qemu-aarch64:M::magic:mask:/usr/libexec/qemu-binfmt/aarch64-binfmt-P:OPF"


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    path = tmp_path / "qemu-aarch64.conf"
    path.write_text(f"{_RULE}\n")
    return path


def test_a_kernel_that_does_not_know_arm64_is_told(tmp_path: Path, rule: Path) -> None:
    (tmp_path / "register").touch()
    foreign.register(tmp_path, rule)
    assert (tmp_path / "register").read_text() == _RULE


def test_a_kernel_that_knows_arm64_is_left_alone(tmp_path: Path, rule: Path) -> None:
    (tmp_path / "qemu-aarch64").touch()
    (tmp_path / "register").touch()
    foreign.register(tmp_path, rule)
    assert (tmp_path / "register").read_text() == ""


def test_a_machine_that_may_not_be_told_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "register").touch()
    with pytest.raises(OSError, match="systemctl restart systemd-binfmt"):
        foreign.register(tmp_path, tmp_path / "none.conf")


def test_an_emulator_without_its_network_rom_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mcopy", "socat"):
        (tmp_path / name).touch()
    emulator = tmp_path / "qemu-system-aarch64"
    emulator.write_text(f"#!/bin/sh\necho {tmp_path}/roms\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert guest.missing_programs() == ["ipxe-qemu"]
    (tmp_path / "roms").mkdir()
    (tmp_path / "roms" / "efi-virtio.rom").touch()
    assert guest.missing_programs() == []
