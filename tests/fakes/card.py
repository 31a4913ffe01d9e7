"""A card with two slots in a folder, and the Pi's boot loader, which starts one of them or none.

Files are partitions. A release is known by its bytes: a slot that is not whole starts nothing.
"""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from agent.update import bootloader
from agent.update.installation import RESERVED_BYTES
from agent.update.machine import Machine, find_machine
from image.lib import bundle, layout

KERNEL, RAMDISK, TREE = "vmlinuz", "initrd.img", "bcm2711-rpi-4-b.dtb"
SLOT_BYTES = 400_000 + RESERVED_BYTES
OLD, NEW = "0.1.0", "0.2.0"
BUILT_S = 1_790_000_000
# So that a bundle comes in some dozen pieces
PIECE_BYTES = 40_000
# What a trial without tryboot.txt adds
_NOTE = re.compile(r" barnacle\.switch=[0-9]+")


class NothingStarts(Exception):
    """What config.txt or tryboot.txt names is not a whole slot."""


@dataclass(frozen=True)
class Started:
    """What the boot loader has started."""

    slot: str
    version: str


def make_key(path: Path) -> Path:
    command = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


def boot_file(name: str, version: str) -> bytes:
    return f"{name} of {version}; ".encode() * 2000


def system(version: str) -> bytes:
    return f"system of {version}; ".encode() * 15_000


async def in_pieces(content: bytes, piece_bytes: int = PIECE_BYTES) -> AsyncIterator[bytes]:
    for at in range(0, len(content), piece_bytes):
        yield content[at : at + piece_bytes]


class Card:
    """A card with version `OLD` in slot A, and nothing in slot B.

    Args:
        key: what signs its updates.
    """

    def __init__(self, root: Path, key: Path) -> None:
        self.root = root
        self.key = key
        self.firmware = root / "boot/firmware"
        for folder in ("boot/firmware/A", "boot/firmware/B", "dev/disk/by-partuuid", "proc"):
            (root / folder).mkdir(parents=True)
        (root / "usr/share/barnacle").mkdir(parents=True)
        for slot in layout.SLOTS:
            self.partition(slot).write_bytes(b"\0" * SLOT_BYTES)
        for name in (KERNEL, RAMDISK, TREE):
            (self.firmware / "A" / name).write_bytes(boot_file(name, OLD))
        (self.firmware / "A/cmdline.txt").write_text(layout.command_line("A") + "\n")
        (self.firmware / "config.txt").write_text(layout.config_txt("A"))
        self._put_system("A", OLD)
        bundle.describe(root, bundle.Release(OLD, BUILT_S), [key])
        self._become(Started("A", OLD))

    def partition(self, slot: str) -> Path:
        return self.root / "dev/disk/by-partuuid" / layout.SLOTS[slot].partuuid

    def machine(self) -> Machine:
        return find_machine(self.root)

    def bundle(
        self,
        version: str = NEW,
        *,
        key: Path | None = None,
        built_s: int = BUILT_S,
        needs: str = OLD,
        content: bytes | None = None,
    ) -> bytes:
        """The update to a version."""
        work = self.root / "work"
        (work / "A").mkdir(parents=True, exist_ok=True)
        for name in (KERNEL, RAMDISK, TREE):
            (work / "A" / name).write_bytes(boot_file(name, version))
        (work / "A/cmdline.txt").write_text(layout.command_line("A") + "\n")
        (work / "system").write_bytes(content or system(version))
        release = bundle.Release(version, built_s, needs)
        bundle.write(work / "made", release, work / "A", work / "system", key or self.key)
        return (work / "made").read_bytes()

    def start(self, *, is_trial: bool = False) -> Started:
        """What the boot loader does when power comes, or on a restart with the wish for a trial.

        Raises:
            NothingStarts: nothing whole is named.
        """
        started = self.would_start(is_trial=is_trial)
        if bootloader.is_noted(self.firmware, started.slot):
            # The initial RAM disk: the letter goes back before anything else is done
            config = self.firmware / "config.txt"
            other = "A" if started.slot == "B" else "B"
            line = f"os_prefix={started.slot}/"
            config.write_text(config.read_text().replace(line, f"os_prefix={other}/"))
        self._become(started)
        return started

    def would_start(self, *, is_trial: bool = False) -> Started:
        wish = self.firmware / "tryboot.txt"
        config = wish if is_trial and wish.exists() else self.firmware / "config.txt"
        prefixes = [
            line.removeprefix("os_prefix=").rstrip("/")
            for line in config.read_text().splitlines()
            if line.startswith("os_prefix=")
        ]
        [slot] = prefixes
        version = self._version_in(slot)
        return Started(slot, version)

    def _version_in(self, slot: str) -> str:
        folder = self.firmware / slot
        if not (folder / "cmdline.txt").exists():
            raise NothingStarts(f"slot {slot} is empty")
        line = _NOTE.sub("", (folder / "cmdline.txt").read_text()).strip()
        if line != layout.command_line(slot):
            raise NothingStarts(f"slot {slot} is told: {line}")
        content = self.partition(slot).read_bytes()
        version = content.partition(b";")[0].removeprefix(b"system of ").decode(errors="replace")
        if not content.startswith(system(version)):
            raise NothingStarts(f"the system of slot {slot} is not whole")
        for name in (KERNEL, RAMDISK, TREE):
            if (folder / name).read_bytes() != boot_file(name, version):
                raise NothingStarts(f"{name} of slot {slot} is not whole")
        return version

    def _put_system(self, slot: str, version: str) -> None:
        with self.partition(slot).open("r+b") as file:
            file.write(system(version))

    def _become(self, started: Started) -> None:
        """The system that was started: what it says of itself, and what its kernel was told."""
        told = json.loads((self.root / bundle.IDENTITY).read_text())
        (self.root / bundle.IDENTITY).write_text(json.dumps(told | {"version": started.version}))
        (self.root / "proc/cmdline").write_text(layout.command_line(started.slot) + "\n")
