"""Stores of readings to be measured: with the sqlite brain, or on a PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.config import Secret
from agent.readings.archive import LocalArchive
from agent.readings.packing import Retention
from agent.readings.ring import SLOTS
from agent.readings.shared_archive import SharedArchive
from agent.readings.store import ReadingStore
from agent.system.clock import SystemClock
from tests.fakes.postgres import DEBIAN, PostgresServer

_AGENT = "bench"


def store_at(
    folder: Path,
    url: str,
    slots: int = SLOTS,
    retention: Retention | None = None,
    device: Path | None = None,
) -> ReadingStore:
    """Return the store of a folder.

    Args:
        url: of the server; empty for the sqlite brain.
        retention: None keeps every minute for ten years.
    """
    kept = retention or Retention(minute_days=3660)
    shared = None
    if url:
        from agent.readings.postgres.archive import PostgresArchive  # noqa: PLC0415 - if asked for

        clock = SystemClock()
        server = PostgresArchive(Secret(url), clock, _AGENT)
        shared = SharedArchive(LocalArchive(folder), server, clock)
    return ReadingStore(folder, kept, "boot", slots, device, shared)


@contextmanager
def server_for(brain: str) -> Iterator[PostgresServer | None]:
    """Run a server for the postgres brain; None for the sqlite brain."""
    if brain != "postgres":
        yield None
        return
    server = PostgresServer(DEBIAN)
    server.start()
    try:
        yield server
    finally:
        server.remove()
