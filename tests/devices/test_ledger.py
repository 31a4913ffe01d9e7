"""What is kept of acts."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.devices.ledger import MAX_TAKEN, NTH_NEWEST, TOLD_CHARS, WHOLE_TEXTS, DeviceLedger
from agent.devices.wire import MAX_TEXT_CHARS, Outcome
from tests.fakes.jumping_clock import JumpingClock

MONTH_S = 30 * 86_400.0
MONTH_MIN = 30 * 24 * 60
FIRST, NEXT = "f" * 32, "e" * 32


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock(1_800_000_000.0)


@pytest.fixture
async def ledger(tmp_path: Path, clock: JumpingClock) -> AsyncIterator[DeviceLedger]:
    made = DeviceLedger(tmp_path / "devices.db", clock)
    yield made
    await made.aclose()


def fill(path: Path, clock: JumpingClock, count: int) -> None:
    """Have a job of every minute done so often."""
    rows = [(f"{one:032x}", clock.wall_s() - 60 * (count - one)) for one in range(count)]
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO taken VALUES (?, 'kitchen', ?, 'done', '')", rows)


@pytest.mark.parametrize("jump_s", [MONTH_S, -MONTH_S])
async def test_a_clock_that_is_set_leaves_done_acts_known(
    ledger: DeviceLedger, clock: JumpingClock, jump_s: float
) -> None:
    await ledger.take("kitchen", FIRST)
    await ledger.end("kitchen", FIRST, Outcome.DONE, "on")
    clock.jump(jump_s)
    await ledger.take("kitchen", NEXT)
    await clock.sleep(MONTH_S)
    assert (await ledger.settle("kitchen", FIRST)).outcome is Outcome.DONE


async def test_a_job_of_every_minute_finds_room_for_ever(
    ledger: DeviceLedger, clock: JumpingClock, tmp_path: Path
) -> None:
    await ledger.take("kitchen", FIRST)
    fill(tmp_path / "devices.db", clock, MONTH_MIN)
    assert await ledger.take("kitchen", NEXT) is None
    newest = [f"{MONTH_MIN - back:032x}" for back in (1, MAX_TAKEN - 1)]
    assert [(await ledger.settle("kitchen", one)).outcome for one in newest] == [Outcome.DONE] * 2
    with closing(sqlite3.connect(tmp_path / "devices.db")) as db:
        # The first one is at work still
        assert db.execute("SELECT count(*) FROM taken").fetchone() == (MAX_TAKEN + 1,)
    assert (await ledger.settle("kitchen", FIRST)).outcome is Outcome.AT_WORK


async def test_many_acts_of_one_device_push_out_none_of_another(
    ledger: DeviceLedger, clock: JumpingClock, tmp_path: Path
) -> None:
    await ledger.take("cellar", FIRST)
    await ledger.end("cellar", FIRST, Outcome.DONE, "on")
    fill(tmp_path / "devices.db", clock, MAX_TAKEN + 1)
    await ledger.take("kitchen", NEXT)
    assert (await ledger.settle("cellar", FIRST)).outcome is Outcome.DONE


async def test_long_results_of_long_ago_are_cut_to_what_is_told(
    ledger: DeviceLedger, tmp_path: Path
) -> None:
    long = "x" * MAX_TEXT_CHARS
    acts = [f"{number:032x}" for number in range(WHOLE_TEXTS + 2)]
    for act in acts:
        await ledger.take("kitchen", act)
        await ledger.end("kitchen", act, Outcome.DONE, long)
    assert (await ledger.settle("kitchen", acts[0])).text == long[:TOLD_CHARS]
    assert (await ledger.settle("kitchen", acts[-1])).text == long
    with closing(sqlite3.connect(tmp_path / "devices.db")) as db:
        whole = db.execute("SELECT count(*) FROM taken WHERE length(text) = ?", [len(long)])
        assert whole.fetchone() == (WHOLE_TEXTS + 1,)


async def test_to_note_an_act_sorts_none_of_those_before(
    ledger: DeviceLedger, tmp_path: Path
) -> None:
    await ledger.take("kitchen", FIRST)
    with closing(sqlite3.connect(tmp_path / "devices.db")) as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {NTH_NEWEST}", {"caller": "kitchen", "nth": 1})
        assert not [step for *_, step in plan if "TEMP B-TREE" in step]
