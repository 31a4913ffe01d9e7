"""Small readable state in JSON files, through TinyDB, written crash-safe.

For hundreds of small documents: the whole file is rewritten at each change. A person may edit it
meanwhile; what is no document with a number then stays in it and does no harm.
"""

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import StorageCorrupt
from agent.storage.files import write_atomic
from agent.storage.lock import locked

if TYPE_CHECKING:
    from tinydb import TinyDB

_log = logging.getLogger(__name__)

# Damaged versions of a file that are kept
MOST_SET_ASIDE = 9
# What TinyDB calls a document by
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
# How half a character (a lone surrogate) may stand in a file; so do some whole ones
_MAYBE_HALF = re.compile(rb"\\u[dD]|\xed")


def open_documents(path: Path) -> "TinyDB":
    """Open the documents at `path`; a damaged file is set aside as `*.corrupt` and replaced."""
    from tinydb import TinyDB  # noqa: PLC0415 - only where state is really used
    from tinydb.storages import Storage  # noqa: PLC0415 - as above
    from tinydb.table import Table  # noqa: PLC0415 - as above

    class CrashSafeStorage(Storage):
        """A file that is always the old or the new version, never half of one."""

        def read(self) -> dict[str, dict[str, Any]] | None:
            return _read(path)

        def write(self, data: dict[str, dict[str, Any]]) -> None:
            write_atomic(path, _written(data))

    class EditableTable(Table):
        """Documents of a file that others may write, too."""

        def _read_table(self) -> dict[str, Mapping[str, Any]]:
            return _sound((self._storage.read() or {}).get(self.name))

        def _update_table(self, updater: Callable[[dict[int, Mapping[str, Any]]], None]) -> None:
            tables = self._storage.read() or {}
            rows = tables.get(self.name) or {}
            if not isinstance(rows, dict):
                raise StorageCorrupt(f"{path} contains other things than documents: check it")
            sound = _sound(rows)
            documents = {int(number): document for number, document in sound.items()}
            updater(documents)
            # Under a name that no document gets
            others = {
                f"no document {key}" if _NUMBER.fullmatch(key) else key: row
                for key, row in rows.items()
                if key not in sound
            }
            tables[self.name] = others | {str(one): kept for one, kept in documents.items()}
            self._storage.write(tables)
            self.clear_cache()
            # Somebody may take the next number before this table does
            self._next_id = None

    class EditableDocuments(TinyDB):
        table_class = EditableTable

    return EditableDocuments(storage=CrashSafeStorage)


@contextlib.contextmanager
def changing(path: Path) -> Iterator["TinyDB"]:
    """Open the documents for one change; other threads and processes wait with theirs.

    What is read inside still holds when it is written: a command and the running agent change the
    same files.

    Raises:
        StorageFull: the folder cannot be written.
    """
    with locked(path):
        yield open_documents(path)


def with_rows(
    tables: Mapping[str, Any], table: str, rows: Sequence[object], is_ours: Callable[[object], bool]
) -> dict[str, Any]:
    """Return the tables of a file with these rows of ours; whatever else is in it stays.

    What cannot be read is a slip of the person who wrote it, or a later version's.
    """
    there = tables.get(table)
    others = {name: content for name, content in tables.items() if name != table}
    if there and not isinstance(there, dict):
        aside = next(name for at in count(1) if (name := f"no table {table} {at}") not in others)
        _log.warning("documents: no table of rows, kept under another name (name=%s)", aside)
        others[aside] = there
    unread = there.values() if isinstance(there, dict) else ()
    kept = [*rows, *(row for row in unread if not is_ours(row))]
    return others | {table: {str(number): row for number, row in enumerate(kept, start=1)}}


def documents_set_aside(state_dir: Path) -> list[Path]:
    """Return the damaged files of documents in a state folder, and in the folders in it."""
    found = (state_dir.glob(f"{inside}*.json.corrupt*") for inside in ("", "*/"))
    return sorted(path for paths in found for path in paths)


def _sound(rows: object) -> dict[str, Mapping[str, Any]]:
    """Return the documents of a table."""
    found = rows.items() if isinstance(rows, dict) else ()
    return {key: row for key, row in found if _NUMBER.fullmatch(key) and isinstance(row, dict)}


def _read(path: Path) -> dict[str, dict[str, Any]] | None:
    try:
        return _tables(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as err:
        aside = _free_name(path)
        path.rename(aside)
        _log.error("documents: damaged file set aside as %s (file=%s, error=%s)", aside, path, err)
        return None


def _tables(written: bytes) -> dict[str, dict[str, Any]]:
    """Return what a file holds; raise ValueError if it is damaged, or JSON of another shape."""
    content = json.loads(written)
    if _MAYBE_HALF.search(written):
        content = json.loads(_written(content))
    if not isinstance(content, dict):
        # A fault of the file like any other, not of the program
        raise ValueError("it is JSON, but no tables of documents")  # noqa: TRY004 - as above
    return content


def _written(content: object) -> bytes:
    """Return JSON for a file; half a character, which no file takes, becomes a question mark."""
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    return text.encode(errors="replace")


def _free_name(path: Path) -> Path:
    """Return where a damaged file goes; the first ones stay, which hold the most."""
    first = path.with_name(f"{path.name}.corrupt")
    names = [first, *(first.with_name(f"{first.name}.{at}") for at in range(2, MOST_SET_ASIDE + 1))]
    return next((name for name in names if not name.exists()), names[-1])
