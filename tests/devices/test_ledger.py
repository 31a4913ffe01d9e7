"""What is kept of acts."""

import sqlite3
from contextlib import closing
from pathlib import Path

from agent.devices.caller import GIVEN_UP_S
from agent.devices.ledger import KEPT_S, DeviceLedger
from tests.fakes.clock import SteppedClock

MONTH_MIN = 30 * 24 * 60


async def test_a_job_of_every_minute_finds_room_for_ever(tmp_path: Path) -> None:
    clock, path = SteppedClock(), tmp_path / "devices.db"
    ledger = DeviceLedger(path, clock)
    await ledger.take("kitchen", "f" * 32)
    rows = [(f"{one:032x}", clock.wall_s() - 60 * one) for one in range(MONTH_MIN)]
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO taken VALUES (?, 'kitchen', ?, 'done', '')", rows)
    assert await ledger.take("kitchen", "e" * 32) is None
    await ledger.aclose()


def test_an_act_is_known_as_long_as_it_is_asked_for() -> None:
    assert KEPT_S > GIVEN_UP_S
