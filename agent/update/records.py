"""Records of an update on the data partition, read by both systems at start.

Written by root, read by everybody; a record that cannot be read is none.
"""

import enum
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.storage.files import sync_folder, write_atomic

FOLDER = Path("/data/update")
TRIAL, OUTCOME, HELD = "trial.json", "outcome.json", "held.json"
_MAX_BYTES = 64 * 1024
_READABLE = 0o644
R = TypeVar("R")


class Phase(enum.Enum):
    """Phase of a new version."""

    # Whole in its slot, verified; nobody has asked for a start of it
    WRITTEN = "written"
    # The start that tries it was asked for
    TRYING = "trying"
    # It was started, and has yet to show that it is healthy
    RUNNING = "running"


class Trial(msgspec.Struct, frozen=True):
    """A new version that is not settled; `reason` is why it gave way."""

    slot: str
    version: str
    from_version: str
    phase: Phase = Phase.WRITTEN
    # The kernel knows no tryboot.txt: config.txt itself names the slot until it has started
    by_switch: bool = False
    reason: str = ""
    # Units of ours that had failed before it was tried: they say nothing about it
    failed_before: tuple[str, ...] = ()


class UpdateOutcome(msgspec.Struct, frozen=True):
    """Outcome of an update; `at_s` tells one from the other."""

    version: str
    from_version: str
    is_kept: bool
    at_s: float
    reason: str = ""


class Held(msgspec.Struct, frozen=True):
    """Content of the idle slot, if it is whole."""

    slot: str
    version: str


class UpdateRecords:
    """The records in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trial(self) -> Trial | None:
        return self._read(TRIAL, Trial)

    def outcome(self) -> UpdateOutcome | None:
        return self._read(OUTCOME, UpdateOutcome)

    def held(self) -> Held | None:
        return self._read(HELD, Held)

    def write(self, record: Trial | UpdateOutcome | Held) -> None:
        """Replace the record of its kind.

        Raises:
            StorageFull: the old one is still there.
        """
        names: dict[type, str] = {Trial: TRIAL, UpdateOutcome: OUTCOME, Held: HELD}
        path = self.folder / names[type(record)]
        write_atomic(path, msgspec.json.encode(record))
        path.chmod(_READABLE)

    def forget(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        sync_folder(self.folder)

    def _read(self, name: str, kind: type[R]) -> R | None:
        try:
            with (self.folder / name).open("rb") as file:
                return msgspec.json.decode(file.read(_MAX_BYTES), type=kind)
        except (OSError, msgspec.DecodeError, UnicodeError):
            return None
