"""Note of a restore: when it was, what was open in the backup, and if the owner knows."""

from pathlib import Path

import msgspec

from agent.storage.files import write_atomic

NAME = "restored.json"


class RestoreNote(msgspec.Struct, frozen=True, kw_only=True):
    """Note of one restore.

    Args:
        restored_at_s: by a clock that is believed; 0 where it was not set yet.
        closed: what was open in the backup, a line each.
        people: who has access by the backup.
        kept: the folder of what was there before; empty where there was nothing.
        left: what a person has to put in place by hand, a sentence each.
        is_told: the owner was told.
    """

    made_at_s: float
    device: str
    version: str
    epoch: int
    restored_at_s: float = 0.0
    closed: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    kept: str = ""
    left: tuple[str, ...] = ()
    is_told: bool = False


def read_note(state_dir: Path) -> RestoreNote | None:
    """Return the note; None of a device that was never restored."""
    try:
        return msgspec.json.decode((state_dir / NAME).read_bytes(), type=RestoreNote)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return None


def write_note(state_dir: Path, note: RestoreNote) -> None:
    """Keep the note; raise StorageFull where it is not kept."""
    write_atomic(state_dir / NAME, msgspec.json.encode(note))
