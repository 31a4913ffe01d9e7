"""Vault of keys: those of this device and of its peers.

One database that only the agent's account may read, each key sealed with a key of its own file
beside it. What a job changes is durable when it returns, or was never changed.
"""

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from agent.errors import ChannelUnavailable, StorageFull
from agent.storage.files import write_atomic
from agent.storage.worker import DatabaseWorker

R = TypeVar("R")
KEY_BYTES = 32
MIGRATIONS = (
    """
    CREATE TABLE ourselves (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE people (
        user TEXT PRIMARY KEY, changed INTEGER NOT NULL DEFAULT 1, asked INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE devices (
        user TEXT, device TEXT, curve TEXT NOT NULL, ed TEXT NOT NULL,
        is_gone INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (user, device)
    );
    CREATE TABLE pairs (
        session TEXT PRIMARY KEY, curve TEXT NOT NULL, pickle TEXT NOT NULL, used_s REAL NOT NULL
    );
    CREATE INDEX pairs_by_curve ON pairs (curve, used_s);
    CREATE TABLE heard (
        room TEXT, session TEXT, sender TEXT NOT NULL, curve TEXT NOT NULL, ed TEXT NOT NULL,
        pickle TEXT NOT NULL, kept_s REAL NOT NULL, PRIMARY KEY (room, session)
    );
    CREATE TABLE messages (
        room TEXT, session TEXT, number INTEGER, event TEXT NOT NULL,
        PRIMARY KEY (room, session, number)
    );
    CREATE TABLE spoken (
        room TEXT PRIMARY KEY, session TEXT NOT NULL, pickle TEXT NOT NULL,
        begun_s REAL NOT NULL, messages INTEGER NOT NULL
    );
    CREATE TABLE shared (
        room TEXT, user TEXT, device TEXT, curve TEXT NOT NULL, PRIMARY KEY (room, user, device)
    );
    CREATE TABLE rooms (room TEXT PRIMARY KEY, rules TEXT NOT NULL);
    CREATE TABLE waiting (
        event TEXT PRIMARY KEY, room TEXT NOT NULL, told TEXT NOT NULL, since_s REAL NOT NULL
    );
    """,
)
_TABLES = (
    "ourselves",
    "people",
    "devices",
    "pairs",
    "heard",
    "messages",
    "spoken",
    "shared",
    "rooms",
    "waiting",
)


class KeyVaultSession(Struct, frozen=True):
    """The vault, open for one job.

    Args:
        key: of what is sealed in it.
    """

    db: sqlite3.Connection
    key: bytes

    def told(self, name: str) -> str:
        """Return our own entry of that name; empty if there is none."""
        row = self.db.execute("SELECT value FROM ourselves WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def tell(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO ourselves VALUES (?, ?)", (name, value))

    def empty(self) -> None:
        """Forget everything: it belonged to another device."""
        for table in _TABLES:
            self.db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own


Job = Callable[[KeyVaultSession], R]


class KeyVault:
    """The database and the key of what is in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "vault.db"
        self._worker = DatabaseWorker(self._path, MIGRATIONS)
        self._key = b""

    async def transact(self, job: Job[R]) -> R:
        """Run `job` and return its result after its changes are durable.

        Raises:
            ChannelUnavailable: nothing was changed, and nothing is read or said without it.
        """
        try:
            await self._prepare()
            return await self._worker.transact(lambda db: job(KeyVaultSession(db, self._key)))
        except StorageFull as err:
            raise ChannelUnavailable(str(err)) from err

    async def look(self, job: Job[R]) -> R:
        """Run `job`, which changes nothing, and return its result."""
        try:
            await self._prepare()
            return await self._worker.look(lambda db: job(KeyVaultSession(db, self._key)))
        except StorageFull as err:
            raise ChannelUnavailable(str(err)) from err

    async def aclose(self) -> None:
        await self._worker.aclose()

    async def _prepare(self) -> None:
        if not self._key:
            self._key = await asyncio.to_thread(self._unlocked)

    def _unlocked(self) -> bytes:
        path = self._folder / "vault.key"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Whoever may not read it gets no copy either: SQLite gives its log the same mode
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            key = path.read_bytes() if path.exists() else b""
            if len(key) != KEY_BYTES:
                key = secrets.token_bytes(KEY_BYTES)
                write_atomic(path, key)
        except OSError as err:
            raise StorageFull(f"cannot use {self._folder}: {err.strerror}") from err
        return key
