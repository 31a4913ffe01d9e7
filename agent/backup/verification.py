"""Verification of a backup: restored into a scratch folder, every part looked at."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from agent.backup.database_copy import schema_of, trouble_of
from agent.backup.encryption import Keys
from agent.backup.manifest import BackupHeader, PartKind, PartRecord
from agent.backup.reader import ReadBackup, open_below, read_backup
from agent.errors import StorageFull


class PartCheck(Struct, frozen=True):
    """Result for one part; `trouble` is empty where all is well."""

    name: str
    kind: PartKind
    size_bytes: int
    schema: int | None
    trouble: str = ""


class Verification(Struct, frozen=True):
    """Result for a whole backup."""

    header: BackupHeader
    checks: tuple[PartCheck, ...]

    @property
    def troubles(self) -> tuple[PartCheck, ...]:
        return tuple(one for one in self.checks if one.trouble)


def verify(path: Path, keys: Keys, scratch: Path) -> Verification:
    """Restore a backup into a folder below `scratch`, check it, and remove the folder.

    Raises:
        BackupRefused: it cannot be read at all.
        StorageFull: there is no room to restore it.
    """
    with scratch_folder(path, scratch) as folder:
        found = unpack(path, keys, folder)
        wrong = found.differences()
        checks = [_checked(part, folder, wrong.pop(part.name, "")) for part in found.manifest.parts]
    unknown = [PartCheck(name, PartKind.FILE, 0, None, why) for name, why in wrong.items()]
    return Verification(found.manifest.header, (*checks, *unknown))


def unpack(path: Path, keys: Keys, folder: Path) -> ReadBackup:
    """Write all parts below a folder, as they are named."""
    return read_backup(path, keys, lambda name, mode: open_below(folder, name, mode))


@contextmanager
def scratch_folder(path: Path, scratch: Path) -> Iterator[Path]:
    """Yield an empty private folder with room for what the file holds."""
    needed_bytes, free_bytes = path.stat().st_size, shutil.disk_usage(scratch).free
    if free_bytes < needed_bytes:
        raise StorageFull(
            f"{scratch} has {free_bytes // 1024**2} MB free, and {path.name} needs "
            f"{needed_bytes // 1024**2} MB: make room, or name a folder with --scratch"
        )
    with tempfile.TemporaryDirectory(prefix=".barnacle-backup-", dir=scratch) as folder:
        yield Path(folder)


def _checked(part: PartRecord, folder: Path, trouble: str) -> PartCheck:
    if not trouble and part.kind is PartKind.DATABASE:
        path = folder / part.name
        trouble = trouble_of(path)
        if not trouble and (schema := schema_of(path)) != part.schema:
            trouble = f"has schema {schema}, and the manifest says {part.schema}"
    return PartCheck(part.name, part.kind, part.size_bytes, part.schema, trouble)
