"""A copy of the built image, as a card in the hand: its firmware partition is read and written.

What is written is thrown away with the copy; the image itself is never changed.
"""

import os
import re
import subprocess
from pathlib import Path

from image.lib.layout import COUNTER, COUNTER_SECTOR, DATA, FIRMWARE, MIB, SECTOR

_PREFIX = re.compile(r"^os_prefix=([AB])/\s*$", re.MULTILINE)
_EARLY_ENDS = re.compile(rb"barnacle-starts ([0-9])\n")
# What a small card has beyond the image: the data partition grows into it
_REST_MIB = 256


class Card:
    """One card; a guest that runs from it writes to it."""

    def __init__(self, image: Path, path: Path) -> None:
        self.path = path
        # The image has holes, and so has its copy
        subprocess.run(["cp", "--sparse=always", "--", image, path], check=True)
        with path.open("r+b") as file:
            file.truncate(file.seek(0, os.SEEK_END) + _REST_MIB * MIB)

    def slot(self, config: str = "config.txt") -> str:
        """Return the slot that this file would start."""
        [slot] = _PREFIX.findall(self.read(config).decode())
        return str(slot)

    def read(self, name: str) -> bytes:
        done = self._mtools("mtype", f"::/{name}")
        return done.stdout if done.returncode == 0 else b""

    def write(self, name: str, content: bytes) -> None:
        """As a PC does it; not while a guest runs from the card."""
        command = ["mcopy", "-o", "-i", self._place, "-", f"::/{name}"]
        subprocess.run(command, input=content, check=True)

    def holds(self, content: bytes) -> bool:
        """Return true if the firmware partition holds these bytes, deleted files included."""
        with self.path.open("rb") as file:
            file.seek(FIRMWARE.start_bytes)
            before = b""
            for _ in range(FIRMWARE.size_mib):
                piece = file.read(MIB)
                if content in before + piece:
                    return True
                before = piece[-len(content) :]
        return False

    def data(self, target: Path) -> Path:
        """The data partition alone: it has grown to the end of the card."""
        command = ["dd", f"if={self.path}", f"of={target}", "bs=1M", "conv=sparse", "status=none"]
        subprocess.run([*command, f"skip={DATA.start_mib}"], check=True)
        with target.open("r+b") as file:
            # What ends in a hole ends where the card does
            file.truncate(self.path.stat().st_size - DATA.start_bytes)
        return target

    def early_ends(self) -> int:
        """Return the count of starts that ended before the agent was ready, as the card has it."""
        with self.path.open("rb") as card:
            card.seek(COUNTER.start_bytes + COUNTER_SECTOR * SECTOR)
            found = _EARLY_ENDS.match(card.read(SECTOR))
        return int(found[1]) if found else 0

    @property
    def _place(self) -> str:
        return f"{self.path}@@{FIRMWARE.start_bytes}"

    def _mtools(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [program, "-i", self._place, *arguments]
        return subprocess.run(command, capture_output=True, check=False)
