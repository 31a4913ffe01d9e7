import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, Memory, MemoryStats, Scope, StoreLimits, Tidied
from agent.memory.hygiene import (
    FIRST_LOOK_S,
    INTERVAL_S,
    LEAST_BETWEEN_S,
    LOOK_S,
    Chores,
    Hygiene,
    Report,
    last_report,
    put_away,
)
from agent.memory.markdown import MarkdownMemory
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import PreparedMemory

OWNER = Scope("owner")
DAY_S = 86_400.0


class House:
    """A memory with its hygiene; what was called is counted."""

    def __init__(self, root: Path, memory: Memory, **chores: object) -> None:
        self.clock = SteppedClock()
        self.snapshots = 0
        self.trims = 0
        self.report_file = root / "hygiene.json"
        given = {"limits": StoreLimits(), "archive": None} | chores
        made = Chores(snapshot=self.snapshot, trim=self.trim, **given)  # type: ignore[arg-type]  # its fields
        self.hygiene = Hygiene(memory, made, self.report_file, self.clock)

    async def snapshot(self) -> None:
        self.snapshots += 1

    async def trim(self) -> int:
        self.trims += 1
        return 3


class TidyMemory(PreparedMemory):
    """Does what it is told to, and says how it is."""

    is_sound = True
    tidied: int = 0

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        self.tidied += 1
        return Tidied(1, 2, 4, self.is_sound)

    async def stats(self) -> MemoryStats:
        return MemoryStats(self.name, 7, size_bytes=40_960)


class UnreadableMemory(TidyMemory):
    """Its disk is gone."""

    async def tidy(self, limits: StoreLimits, now_s: float) -> Tidied:
        raise MemoryUnavailable("the disk is gone")


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    clock = SteppedClock()
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), clock)
    await memory.store("old", "said long ago", category=CONVERSATION, scope=OWNER)
    await memory.store("fact", "a fact of long ago", scope=OWNER, provenance=Provenance.OWNER)
    clock.advance(31 * DAY_S)
    await memory.store("new", "said just now", category=CONVERSATION, scope=OWNER)
    yield memory
    await memory.aclose()


async def test_everything_is_done_and_reported(tmp_path: Path) -> None:
    house = House(tmp_path, TidyMemory())
    report = await house.hygiene.clean()
    assert report == Report(house.clock.wall_s(), 1, 0, 2, 4, 3, 7, 40_960)
    assert last_report(house.report_file) == report
    assert (house.snapshots, house.trims) == (1, 1)
    assert report.sentence == (
        "removed 1 old conversations, 2 duplicates and 4 others; 7 memories in 40 KB"
    )


async def test_conversations_past_their_time_go_and_facts_stay(
    sqlite: SqliteMemory, tmp_path: Path
) -> None:
    house = House(tmp_path, sqlite)
    house.clock.advance(31 * DAY_S)
    assert (await house.hygiene.clean()).pruned == 1
    assert [entry.key for entry in await sqlite.list(OWNER)] == ["new", "fact"]


async def test_who_wants_an_archive_gets_what_goes(sqlite: SqliteMemory, tmp_path: Path) -> None:
    house = House(tmp_path, sqlite, archive=tmp_path / "archive")
    house.clock.advance(31 * DAY_S)
    for archived in (1, 0):
        assert (await house.hygiene.clean()).archived == archived
    [line] = (tmp_path / "archive" / "2027.jsonl").read_text().splitlines()
    assert json.loads(line)["content"] == "said long ago"


async def test_what_stays_in_the_memory_is_not_put_away(tmp_path: Path) -> None:
    memory = MarkdownMemory(tmp_path / "memory", NoEmbedder(), SteppedClock())
    await memory.store("old", "said long ago", category=CONVERSATION, scope=OWNER)
    house = House(tmp_path, memory, archive=tmp_path / "archive")
    house.clock.advance(31 * DAY_S)
    for _ in range(2):
        assert (await house.hygiene.clean()).archived == 0
    assert not (tmp_path / "archive").exists()
    await memory.aclose()


@pytest.mark.parametrize("left", ["", '{"content": "half a li'], ids=["whole", "torn"])
async def test_a_cut_before_they_go_puts_nothing_away_twice(
    sqlite: SqliteMemory, tmp_path: Path, left: str
) -> None:
    folder = tmp_path / "archive"
    house = House(tmp_path, sqlite, archive=folder)
    house.clock.advance(31 * DAY_S)
    assert await put_away(sqlite, folder, house.clock.wall_s(), 30) == 1
    file = folder / "2027.jsonl"
    with file.open("a") as torn:
        torn.write(left)
    await sqlite.store("older", "said before", category=CONVERSATION, scope=OWNER)
    house.clock.advance(31 * DAY_S)
    assert (await house.hygiene.clean()).archived == 3
    whole = [json.loads(line) for line in file.read_text().splitlines() if line != left]
    assert [line["content"] for line in whole] == ["said long ago", "said just now", "said before"]


async def test_a_clock_that_is_set_meanwhile_takes_nothing_that_was_not_put_away(
    sqlite: SqliteMemory, tmp_path: Path
) -> None:
    """Here the memory has the later time."""
    house = House(tmp_path, sqlite, archive=tmp_path / "archive")
    report = await house.hygiene.clean()
    assert (report.archived, report.pruned) == (0, 0)
    assert await sqlite.count(OWNER) == 3


async def test_a_damaged_store_is_told_and_takes_no_snapshot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = TidyMemory()
    memory.is_sound = False
    house = House(tmp_path, memory)
    report = await house.hygiene.clean()
    assert "THE DATABASE IS DAMAGED" in report.sentence
    assert "the next start restores it" in caplog.text
    assert house.snapshots == 0


async def test_a_lost_store_is_a_report_and_never_an_error(tmp_path: Path) -> None:
    house = House(tmp_path, UnreadableMemory())
    report = await house.hygiene.clean()
    assert report.trouble == "the disk is gone"
    assert "the disk is gone" in report.sentence
    assert house.snapshots == 0


async def test_a_store_that_needs_no_tidying_is_still_counted(tmp_path: Path) -> None:
    house = House(tmp_path, PreparedMemory())
    assert (await house.hygiene.clean()).trimmed == 3


async def test_it_is_done_twice_a_day_also_over_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path, TidyMemory())
    done_at: list[float] = []

    async def clean() -> Report:
        done_at.append(house.clock.monotonic_s())
        report = Report(house.clock.wall_s())
        await house.hygiene._keep(report)
        if len(done_at) == 3:
            raise KeyboardInterrupt
        return report

    monkeypatch.setattr(house.hygiene, "clean", clean)
    with pytest.raises(KeyboardInterrupt):
        await house.hygiene.run()
    assert done_at[0] == FIRST_LOOK_S
    for before, after in itertools.pairwise(done_at):
        assert INTERVAL_S <= after - before <= INTERVAL_S + LOOK_S


async def test_the_end_tidies_up_without_a_snapshot_unless_it_was_just_done(
    tmp_path: Path,
) -> None:
    memory = TidyMemory()
    house = House(tmp_path, memory)
    for tidied in (1, 1):
        await house.hygiene.stop()
        assert memory.tidied == tidied
    house.clock.advance(LEAST_BETWEEN_S + 1)
    await house.hygiene.stop()
    assert memory.tidied == 2
    assert house.snapshots == 0


async def test_a_report_of_the_future_or_of_rubbish_holds_nothing_up(tmp_path: Path) -> None:
    memory = TidyMemory()
    house = House(tmp_path, memory)
    for content in ('{"at_s": 9e12}', "rubbish", ""):
        house.report_file.write_text(content)
        await house.hygiene.stop()
    assert memory.tidied == 3


def test_nothing_done_yet_is_said(tmp_path: Path) -> None:
    assert last_report(tmp_path / "hygiene.json").sentence == "not yet"
