"""Backends by name: where each keeps its memories, and how it is opened.

Opening makes nothing: files and connections come with the first use. Nothing is loaded that the
chosen one does not need.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.errors import ConfigRefused
from agent.memory.base import Memory
from agent.memory.settings import Backend, MemorySettings
from agent.system.clock import Clock
from agent.text.config_hints import install_hint

if TYPE_CHECKING:
    from agent.memory.sqlite import SqliteMemory

# ruff: noqa: PLC0415  # a backend that is not chosen is not loaded
# An address is one line
_MAX_URL_BYTES = 4096


class BackendPlace(Struct, frozen=True):
    """Ingredients of a backend.

    Args:
        state_dir: where the local ones keep their files.
    """

    settings: MemorySettings
    state_dir: Path
    embedder: Embedder
    clock: Clock

    @property
    def folder(self) -> Path:
        return self.state_dir / "memory"

    @property
    def brain_db(self) -> Path:
        return self.folder / "brain.db"

    @property
    def documents(self) -> Path:
        return self.folder / "memories.json"


def open_backend(place: BackendPlace, name: Backend | None = None) -> Memory:
    """Return the backend of that name, or the one in the settings.

    Raises:
        ConfigRefused: it cannot be opened with these settings.
    """
    return _OPENERS[name or place.settings.backend](place)


def where(place: BackendPlace, name: Backend) -> str:
    """Return where the backend keeps its memories, for people."""
    match name:
        case "sqlite" | "lucid":
            return str(place.brain_db)
        case "document":
            return str(place.documents)
        case "markdown":
            return f"{place.state_dir / 'MEMORY.md'} and {place.folder}"
        case "postgres":
            return "the database of memory.postgres_url"
        case _:
            return "nowhere"


def may_hold_memories(place: BackendPlace, name: Backend) -> bool:
    """Return true if the backend is worth opening; looking changes nothing."""
    match name:
        case "sqlite" | "lucid":
            return _has_rows(place.brain_db)
        case "document":
            return place.documents.exists()
        case "markdown":
            has_days = any(place.folder.glob("????-??-??.md"))
            return has_days or (place.state_dir / "MEMORY.md").exists()
        case "postgres":
            return bool(place.settings.postgres_url or place.settings.postgres_url_file)
        case _:
            return False


def _has_rows(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT 1 FROM memories LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        # Damaged or busy: opening it in earnest tells
        return True


def _sqlite(place: BackendPlace) -> "SqliteMemory":
    from agent.memory.sqlite import SqliteMemory

    return SqliteMemory(place.brain_db, place.embedder, place.clock)


def _document(place: BackendPlace) -> Memory:
    from agent.memory.document import DocumentMemory

    return DocumentMemory(place.documents, place.embedder, place.clock)


def _markdown(place: BackendPlace) -> Memory:
    from agent.memory.markdown import MarkdownMemory

    return MarkdownMemory(place.state_dir, place.embedder, place.clock)


def _lucid(place: BackendPlace) -> Memory:
    from agent.memory.lucid import LucidMemory

    return LucidMemory(_sqlite(place), place.settings.lucid_program, place.folder, place.clock)


def _postgres(place: BackendPlace) -> Memory:
    url = postgres_url(place.settings)
    try:
        from agent.memory.postgres.memory import PostgresMemory
    except ImportError as err:
        raise ConfigRefused(
            f"memory.backend: postgres needs psycopg ({err}): {install_hint('postgres')}"
        ) from err
    return PostgresMemory(url, place.embedder, place.clock, place.folder / PostgresMemory.name)


def _none(_: BackendPlace) -> Memory:
    from agent.memory.none import NoMemory

    return NoMemory()


_OPENERS: Mapping[Backend, Callable[[BackendPlace], Memory]] = {
    "sqlite": _sqlite,
    "document": _document,
    "markdown": _markdown,
    "lucid": _lucid,
    "postgres": _postgres,
    "none": _none,
}


def postgres_url(settings: MemorySettings) -> Secret:
    """Return the database address, from the configuration or from its file.

    Raises:
        ConfigRefused: there is none, or it cannot be read.
    """
    if settings.postgres_url:
        return settings.postgres_url
    if not settings.postgres_url_file:
        raise ConfigRefused("memory.postgres_url: is needed for the postgres backend")
    path = Path(os.path.expandvars(settings.postgres_url_file)).expanduser()
    try:
        with path.open("rb") as file:
            return Secret(file.read(_MAX_URL_BYTES).decode().strip())
    except OSError as err:
        raise ConfigRefused(
            f"memory.postgres_url_file: {path} cannot be read: {err.strerror}"
        ) from err
    except ValueError as err:
        # What stands there stays unsaid
        raise ConfigRefused(f"memory.postgres_url_file: {path} contains no address") from err
