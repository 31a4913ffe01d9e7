"""Small readable state in JSON files, through TinyDB, written crash-safe.

For hundreds of small documents: the whole file is rewritten at each change.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.storage.files import write_atomic

if TYPE_CHECKING:
    from tinydb import TinyDB


def open_documents(path: Path) -> "TinyDB":
    """Open the documents at `path`; a damaged file is renamed to `*.corrupt` and replaced."""
    from tinydb import TinyDB  # noqa: PLC0415 - only where state is really used
    from tinydb.storages import Storage  # noqa: PLC0415 - as above

    class CrashSafeStorage(Storage):
        """A file that is always the old or the new version, never half of one."""

        def read(self) -> dict[str, dict[str, Any]] | None:
            return _read(path)

        def write(self, data: dict[str, dict[str, Any]]) -> None:
            text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
            write_atomic(path, text.encode())

    return TinyDB(storage=CrashSafeStorage)


def _read(path: Path) -> dict[str, dict[str, Any]] | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        path.rename(path.with_name(f"{path.name}.corrupt"))
        return None
    return content if isinstance(content, dict) else None
