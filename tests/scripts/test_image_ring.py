"""The place of the newest readings on the card: the script that makes it, on a real loop device."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from image.lib import layout
from image.lib.system_tree import NAMING, OVERLAY
from scripts.lib.bench.block_devices import missing

PROGRAM = OVERLAY / "usr/lib/barnacle/ring-device"
# It waits for what udev does with the device
WAITING = '#!/bin/sh\nfor device; do :; done\n[ -e "$device" ]\n'


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The devices of a card, one slot of which is a file."""
    if reason := missing():
        pytest.skip(f"a loop device {reason}")
    slots = tmp_path / "dev/disk/by-partuuid"
    slots.mkdir(parents=True)
    with (slots / layout.RING.partuuid).open("wb") as file:
        file.truncate(layout.RING.size_bytes)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "udevadm").write_text(WAITING)
    (programs / "udevadm").chmod(0o755)
    yield tmp_path
    for device in devices(tmp_path):
        subprocess.run(["losetup", "--detach", device], check=True)


def devices(root: Path) -> list[str]:
    slot = root / "dev/disk/by-partuuid" / layout.RING.partuuid
    done = subprocess.run(
        ["losetup", "--noheadings", "--output", "NAME", "--associated", slot],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def run(root: Path) -> int:
    script = root / "ring-device"
    script.write_text(layout.filled_in(PROGRAM.read_text()))
    environment = {
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin",
        "RING_DEVICE_ROOT": str(root),
    }
    return subprocess.run(["/bin/sh", script], env=environment, check=False).returncode


def test_the_end_of_the_slot_becomes_a_device_and_nothing_else_of_it(root: Path) -> None:
    # Nobody has made the link yet, which the wait says
    assert run(root) != 0
    [device] = devices(root)
    data = os.urandom(layout.RING_BYTES)
    with Path(device).open("r+b", buffering=0) as file:
        assert file.seek(0, os.SEEK_END) == layout.RING_BYTES
        file.seek(0)
        file.write(data)
        os.fsync(file.fileno())
    with (root / "dev/disk/by-partuuid" / layout.RING.partuuid).open("rb") as file:
        file.seek(layout.RING_START_BYTES)
        assert file.read() == data + bytes(layout.RESERVED_MIB * layout.MIB - len(data))


def test_a_device_that_is_there_is_left_as_it_is(root: Path) -> None:
    (root / "dev/barnacle-ring").touch()
    assert run(root) == 0
    assert devices(root) == []


def test_nothing_that_is_installed_names_a_place_of_no_card() -> None:
    for name in NAMING:
        text = layout.filled_in((OVERLAY / name).read_text())
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert "@" not in "".join(lines), name


def test_the_ring_is_behind_every_system_and_before_the_count_of_starts() -> None:
    most = layout.RING.size_bytes - layout.RESERVED_MIB * layout.MIB
    assert most <= layout.RING_START_BYTES
    end = layout.RING_START_BYTES + layout.RING_BYTES
    assert end <= layout.RING.size_bytes - layout.MIB
    assert layout.RING is not layout.COUNTER
