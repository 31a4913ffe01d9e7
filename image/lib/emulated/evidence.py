"""Evidence of a bad trial: the card, what was written to it, and what the machine has said."""

import os
import shutil
import subprocess
from pathlib import Path

from image.lib.emulated.card import Card
from image.lib.layout import DATA

# The start that stayed silent, and the ones that led to it
STARTS_NOTED = 3
_JOURNAL = "journal"


class Evidence:
    """Notes the writes of each start of a trial, and keeps everything where a trial was bad.

    Args:
        work: the folder of the bench.
        kept: a folder outside of it, which stays.
    """

    def __init__(self, work: Path, kept: Path) -> None:
        self._work = work
        self._kept = kept
        self._starts = 0
        self.is_noting = False

    def note(self, card: Card) -> Path | None:
        """The file for the writes of the next start, beside the data partition as it is now."""
        if not self.is_noting:
            return None
        self._starts += 1
        folder = self._folder(self._starts)
        folder.mkdir(parents=True)
        card.data(folder / "data.ext4")
        shutil.rmtree(self._folder(self._starts - STARTS_NOTED), ignore_errors=True)
        return folder / "writes"

    def noted(self) -> list[Path]:
        """A folder for each start whose writes are there, oldest first."""
        every = (self._folder(one) for one in range(1, self._starts + 1))
        return [folder for folder in every if folder.exists()]

    def forget(self) -> None:
        """Note no more, and let go of what was noted."""
        self.is_noting = False
        for folder in self.noted():
            shutil.rmtree(folder)

    def keep(self, name: str, card: Card) -> Path:
        """Copy all of it; not while a guest runs from the card. The place."""
        target = self._free_place(name)
        target.mkdir(parents=True)
        _copy(card.path, target / "card.img")
        for path in sorted(self._work.glob("*.log")) + sorted(self._work.glob("*.journal")):
            _copy(path, target / path.name)
        for folder in self.noted():
            shutil.copytree(folder, target / folder.name, copy_function=_copy)
        _unpack_journal(card.path, target)
        return target

    def _folder(self, start: int) -> Path:
        return self._work / f"start-{start}"

    def _free_place(self, name: str) -> Path:
        number = 1
        while (place := self._kept / f"{name}-{number}").exists():
            number += 1
        return place


def _copy(source: str | Path, target: str | Path) -> None:
    """With its holes."""
    subprocess.run(["cp", "--sparse=always", "--", source, target], check=True)


def _unpack_journal(card: Path, target: Path) -> None:
    """For `journalctl -D`; what a cut has left of the file system may not be readable so."""
    place = f"{card}?offset={DATA.start_bytes}"
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    command = ["debugfs", "-R", f"rdump /{_JOURNAL} {target}", place]
    environment = {"PATH": path}
    subprocess.run(command, capture_output=True, check=False, env=environment)
