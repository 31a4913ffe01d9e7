"""Inventory of a device: every file that a backup holds, in the order in which it is read.

All of the state folder belongs to it but what is made anew; so a part that is written next year is
not forgotten. Databases come before the logs that they point into.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from msgspec import Struct, field

from agent.backup.database_copy import COMPANIONS, is_database
from agent.backup.folder import PARTIAL
from agent.backup.manifest import SUFFIX, Area, PartKind

# Names at the top of the state folder that are made anew, belong to this run, or are backups
_PASSING = frozenset(
    {
        *("lock", "status.json", "starts.json", "reserve", "model", "update-told", "codes.json"),
        *("chat.log", "chat.log.1", "last-backup.json", "restored.json", "restored-file"),
        # Acts between devices: an older state of it would have them done again
        "devices.db",
    }
)
# The folder of copies in the making, and those of a restore
SCRATCH, STAGED, KEPT = ".backup", ".restore", "before-restore"
# The place of backups that have no other one
FOLDER = "backups"
# Leftovers of a cut or of damage, notes about one run of a database, and what only a lock needs
_LEFTOVERS = ("*.part", "*.lock", "*.corrupt", "*.corrupt.*", "*.later.*", "*.older", "*.clean")
RING, AGENT_DB = "readings.ring", "agent.db"


class Source(Struct, frozen=True):
    """A part that a backup is to hold: a path, or a short content that has none.

    Args:
        origin: where a file that the configuration names has to go back to.
    """

    name: str
    path: Path | None = None
    content: bytes = b""
    kind: PartKind = PartKind.FILE
    origin: str = ""

    @property
    def size_bytes(self) -> int:
        """Return how large it is now; 0 of what is gone."""
        try:
            return len(self.content) if self.path is None else self.path.stat().st_size
        except OSError:
            return 0


class Inventory(Struct, frozen=True):
    """Everything of one device.

    Args:
        workspace, documents: where they are; mostly inside the state folder.
        config: the configuration file; None without one.
        named: files that the configuration names, with their keys.
        credentials: the service's, by their names.
        machine: settings of the machine, by their names below `machine/`.
        left_out: sentences about what is known not to be in it.
        backups: the folder that backups go into, or the file; None where they go elsewhere.
    """

    state_dir: Path
    workspace: Path
    documents: Path
    config: Path | None = None
    named: Sequence[Path] = ()
    credentials: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    backups: Path | None = None

    def sources(self) -> Iterator[Source]:
        """Yield every part."""
        state = self.state_dir
        databases = sorted(self._databases(state), key=lambda path: path != state / AGENT_DB)
        # Its batches move into the database: the other way round one could be in neither
        first = [path for path in (state / RING, *databases) if path.exists()]
        for path in first:
            yield _source(Area.STATE, state, path)
        taken = frozenset(first)
        yield from (
            _source(Area.STATE, state, path) for path in self._files(state) if path not in taken
        )
        yield from self._elsewhere()
        yield from self._values()

    def set_aside(self) -> Iterator[Path]:
        """Yield the damaged databases that the agent has put away: what they held is lost here."""
        return self.state_dir.glob("*.db.corrupt.*")

    def links(self) -> Iterator[Path]:
        """Yield the symbolic links, which no backup follows or holds."""
        for root in (self.state_dir, *self._outside().values()):
            yield from (path for path, mode in self._walk(root) if stat.S_ISLNK(mode))

    def unnamed(self) -> Iterator[Path]:
        """Yield the files whose names are no text, which no list of parts can hold."""
        for root in (self.state_dir, *self._outside().values()):
            for path, mode in self._walk(root):
                if stat.S_ISREG(mode) and not _is_text(path.relative_to(root)):
                    yield path

    def closed(self) -> Iterator[Path]:
        """Yield what this user may not look at, or what a dying card has lost."""
        errors: list[OSError] = []
        for root in (self.state_dir, *self._outside().values()):
            deque(self._walk(root, errors.append), maxlen=0)
        yield from (Path(err.filename) for err in errors if err.errno != errno.ENOENT)

    def _outside(self) -> dict[Area, Path]:
        """Return the folders that the configuration puts outside of the state folder."""
        roots = {Area.WORKSPACE: self.workspace, Area.DOCUMENTS: self.documents}
        inside = (self.state_dir, self.workspace)
        return {
            area: root
            for area, root in roots.items()
            if root.is_dir() and not any(root.is_relative_to(one) for one in inside if one != root)
        }

    def _elsewhere(self) -> Iterator[Source]:
        for area, root in self._outside().items():
            yield from (_source(area, root, path) for path in self._files(root))

    def _values(self) -> Iterator[Source]:
        config = self.config
        if config is not None and config.is_file():
            yield Source(f"{Area.CONFIG.value}/barnacle.toml", config)
        for number, path in enumerate(self.named):
            name = f"{Area.NAMED.value}/{number}-{path.name}"
            yield Source(name, path, origin=str(path.absolute()))
        for name, value in self.credentials.items():
            yield Source(
                f"{Area.CREDENTIALS.value}/{name}",
                content=value.encode(),
                kind=PartKind.CREDENTIAL,
            )
        for name, content in self.machine.items():
            yield Source(f"{Area.MACHINE.value}/{name}", content=content)

    def _databases(self, root: Path) -> Iterator[Path]:
        return (path for path in self._files(root) if path.suffix == ".db" and is_database(path))

    def _files(self, root: Path) -> Iterator[Path]:
        for path, mode in self._walk(root):
            if stat.S_ISREG(mode) and _is_text(path.relative_to(root)):
                yield path

    def _walk(
        self, root: Path, failed: Callable[[OSError], object] | None = None
    ) -> Iterator[tuple[Path, int]]:
        """Yield everything below a folder that belongs to a backup, sorted, links not followed."""
        for folder, folders, files in os.walk(root, onerror=failed):
            here = Path(folder)
            links = [name for name in folders if (here / name).is_symlink()]
            folders[:] = sorted(
                name for name in folders if name not in links and not self._is_out(here / name)
            )
            for name in sorted([*files, *links]):
                path = here / name
                if not self._is_out(path):
                    try:
                        yield path, path.lstat().st_mode
                    except OSError as err:
                        if failed is not None:
                            failed(err)

    def _is_out(self, path: Path) -> bool:
        # Documents may be around the state folder, which is a part of its own
        if path == self.state_dir or self._is_backup(path):
            return True
        if path.parent == self.state_dir and is_passing(path.name):
            return True
        # A person's `uv.lock` is none of ours
        is_persons = any(map(path.is_relative_to, (self.workspace, self.documents)))
        if not is_persons and any(fnmatch(path.name, pattern) for pattern in _LEFTOVERS):
            return True
        return any(
            path.name.endswith(suffix) and is_database(path.with_name(path.name[: -len(suffix)]))
            for suffix in COMPANIONS
        )

    def _is_backup(self, path: Path) -> bool:
        """Return true of a backup in the place of the backups: each would hold those before it.

        All else in that folder may be a person's, or of the agent.
        """
        name = path.name.removesuffix(PARTIAL)
        if self.backups is None or not name.endswith(SUFFIX) or path.is_dir():
            return False
        place, folder = self.backups.resolve(), path.parent.resolve()
        return place in {folder, folder / name}


def is_usable_folder(folder: Path) -> bool:
    """Return true if this user can make files in a folder that is there."""
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def is_passing(name: str) -> bool:
    """Return true of a name at the top of the state folder that no backup holds or replaces."""
    if name in _PASSING or name in {SCRATCH, STAGED, FOLDER} or name.startswith(KEPT):
        return True
    return any(fnmatch(name, pattern) for pattern in _LEFTOVERS)


def _is_text(name: Path) -> bool:
    """Return false of a name that is no UTF-8: an unpacked archive of long ago has such."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def _source(area: Area, root: Path, path: Path) -> Source:
    kind = PartKind.DATABASE if is_database(path) else PartKind.FILE
    return Source(f"{area.value}/{path.relative_to(root).as_posix()}", path, kind=kind)
