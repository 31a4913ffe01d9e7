"""F06: whatever has become of the journal's file, the agent starts, and a bad one is set aside."""

import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from agent.messaging import inbox
from agent.messaging.journal import open_agent_db
from agent.storage.database import SMALL_PAGE_BYTES, was_set_aside
from tests.fakes.channel import message

START_LIMIT_S = 10.0
_TEXT = "x" * 700


async def filled(path: Path) -> bytes:
    """A small journal as it is on the disk."""
    journal = open_agent_db(path)
    for number in range(8):
        inbound = message(f"{number} {_TEXT}", f"{number}")
        await journal.transact(partial(inbox.accept, message=inbound))
    await journal.aclose()
    return path.read_bytes()  # noqa: ASYNC240 - nothing else runs in this test


async def starts(path: Path) -> None:
    """It takes a message and has it again."""
    begun_s = time.monotonic()
    journal = open_agent_db(path)
    new = message("after it", "new")
    assert await journal.transact(lambda db: inbox.accept(db, new)) is not None
    left = await journal.transact(inbox.unanswered)
    await journal.aclose()
    assert time.monotonic() - begun_s < START_LIMIT_S
    assert left[-1].message == new


def damages(whole: bytes) -> Iterator[bytes]:
    pages = range(0, len(whole), SMALL_PAGE_BYTES)
    for at in pages:
        middle = at + SMALL_PAGE_BYTES // 2
        yield whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
        yield whole[:at] + bytes(SMALL_PAGE_BYTES) + whole[at + SMALL_PAGE_BYTES :]
        yield whole[:at]
    yield b"not a database at all\n" * 100


async def test_no_damage_keeps_the_agent_from_starting(tmp_path: Path) -> None:
    whole = await filled(tmp_path / "whole.db")
    set_aside = 0
    for number, damaged in enumerate(damages(whole)):
        path = tmp_path / f"{number}" / "agent.db"
        path.parent.mkdir()
        path.write_bytes(damaged)
        await starts(path)
        set_aside += len(was_set_aside(path))
    assert set_aside > 0


async def test_what_was_copied_outlives_the_loss_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    await filled(path)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"agent.db{suffix}").unlink(missing_ok=True)
    await starts(path)
    assert was_set_aside(path) == []
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM inbox").fetchone() == (9,)
    db.close()
