"""Record of the last backup, for `barnacle doctor` and for the schedule of every night."""

from pathlib import Path

import msgspec

from agent.storage.files import write_atomic

NAME = "last-backup.json"


class LastBackup(msgspec.Struct, frozen=True, kw_only=True):
    """The last backup that was made, or tried.

    Args:
        trouble: why the newest try failed; empty where it did not.
        tried_at_s: time of that try.
        verified_at_s: time at which it was verified on this device; 0 if it never was.
        verify_trouble: what was wrong with it then; empty where nothing was.
        whole: the newest file in which no database was damaged; it outlives those that are kept.
        is_apart: it was written onto another disk than those of the state and the system.
        left_out: sentences about what it lacks; None in a record of an earlier version.
    """

    made_at_s: float = 0.0
    where: str = ""
    size_bytes: int = 0
    tried_at_s: float = 0.0
    trouble: str = ""
    verified_at_s: float = 0.0
    verify_trouble: str = ""
    whole: str = ""
    is_apart: bool = False
    left_out: tuple[str, ...] | None = None


def read_record(state_dir: Path) -> LastBackup | None:
    """Return the record; None where no backup was ever made."""
    try:
        return msgspec.json.decode((state_dir / NAME).read_bytes(), type=LastBackup)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return None


def write_record(state_dir: Path, record: LastBackup) -> None:
    """Keep the record; raise StorageFull where it is not kept."""
    write_atomic(state_dir / NAME, msgspec.json.encode(record))
