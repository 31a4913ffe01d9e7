"""Manifest of a backup: the device, its version and epoch, and every part with its hash."""

import enum
from typing import TypeVar

import msgspec

from agent.errors import BackupRefused

# Of the archive; a later one may have parts that this version would lose
FORMAT = 1
# The first and the last file of the archive
HEADER_NAME, MANIFEST_NAME = "barnacle-backup.json", "manifest.json"
# A hundred thousand files; more is no manifest of ours
MAX_MANIFEST_BYTES = 32 * 1024 * 1024
SUFFIX = ".barnacle-backup"
T = TypeVar("T")


class PartKind(enum.Enum):
    """Kind of a part."""

    # A snapshot by SQLite's backup API
    DATABASE = "database"
    # A file as it lay there
    FILE = "file"
    # A credential of the service, in plain text inside the encrypted backup
    CREDENTIAL = "credential"


class Area(enum.Enum):
    """First folder of a part's name: the place that it goes back to."""

    # The state folder
    STATE = "state"
    # The workspace, where the configuration puts it outside of the state folder
    WORKSPACE = "workspace"
    # The documents folder, likewise
    DOCUMENTS = "documents"
    # The configuration file
    CONFIG = "config"
    # A file that the configuration names; its record has the path
    NAMED = "named"
    # The service's credentials
    CREDENTIALS = "credentials"
    # Host name, time zone, SSH keys and Wi-Fi of a card
    MACHINE = "machine"


class BackupHeader(msgspec.Struct, frozen=True, kw_only=True):
    """First file of a backup.

    Args:
        epoch: number of restores in the device's past.
        born_as: its name before the first of them; empty in a backup of an earlier version.
        is_dated: the clock was believed when the backup was made.
        left_out: sentences about what the backup lacks.
    """

    format: int
    version: str
    device: str
    made_at_s: float
    epoch: int = 0
    born_as: str = ""
    is_dated: bool = True
    left_out: tuple[str, ...] = ()


class PartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One part.

    Args:
        schema: number of a database's last migration.
        path: of a file that the configuration names.
    """

    name: str
    kind: PartKind
    size_bytes: int
    sha256: str
    schema: int | None = None
    path: str = ""

    @property
    def area(self) -> str:
        return self.name.partition("/")[0]


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Last file of a backup.

    Args:
        is_whole: no database was damaged or set aside, and the disk gave all that was asked of it.
    """

    header: BackupHeader
    parts: tuple[PartRecord, ...]
    is_whole: bool = True

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts)


def decoded(content: bytes, kind: type[T]) -> T:
    """Return a header or a manifest.

    Raises:
        BackupRefused: it is none, or of a later version.
    """
    try:
        number = msgspec.json.decode(content, type=_AnyForm).number
        if number > FORMAT:
            raise BackupRefused(
                f"a later version of Barnacle made this backup (form {number}, this version knows "
                f"{FORMAT}): install that version first"
            )
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeError) as err:
        raise BackupRefused(f"its list of parts cannot be read: {err}") from err


class _Numbered(msgspec.Struct, frozen=True):
    format: int = 0


class _AnyForm(msgspec.Struct, frozen=True):
    """As much of a header or a manifest as says its form."""

    format: int = 0
    header: _Numbered = _Numbered()

    @property
    def number(self) -> int:
        return max(self.format, self.header.format)
