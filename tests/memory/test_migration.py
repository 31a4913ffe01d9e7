from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.backends import BackendPlace, open_backend
from agent.memory.base import DAILY, Memory, MemoryEntry, Scope
from agent.memory.migration import migrate, superseders_first
from agent.memory.settings import Backend, MemorySettings
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.contracts.memory import MEI, TOM
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import PostgresServer

BACKENDS: tuple[Backend, ...] = ("sqlite", "document", "markdown", "lucid", "postgres")
Open = Callable[[Backend, str], Memory]


def nothing(_: int, __: int) -> None:
    pass


@pytest.fixture
async def open_one(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """A backend in a folder of that name."""
    opened: list[Memory] = []

    def open_it(name: Backend, folder: str) -> Memory:
        url = ""
        if name == "postgres":
            server = request.getfixturevalue("debian_server")
            assert isinstance(server, PostgresServer)
            url = server.fresh_url()
        settings = MemorySettings(backend=name, postgres_url=Secret(url), lucid_program="false")
        place = BackendPlace(settings, tmp_path / folder, NoEmbedder(), SteppedClock())
        opened.append(open_backend(place))
        return opened[-1]

    yield open_it
    for memory in opened:
        await memory.aclose()


async def filled(memory: Memory) -> list[MemoryEntry]:
    """With a chain of three, of which one is shown, and with everything that a memory can say."""
    hidden = await memory.store("a1", "the first", scope=MEI, provenance=Provenance.OWNER)
    middle = await memory.store("a2", "the second", scope=MEI)
    last = await memory.store("a3", "the third\n\n  \x00 line", scope=MEI, source="notes.md")
    await memory.store("b", "妹妹叫小美", scope=TOM, category=DAILY)
    await memory.store("c", "the wifi is called barn")
    await memory.store("d", "the pump hangs on PB0", scope=Scope(device="barn"))
    await memory.restore(replace(last, pinned=True, importance=0.9, created_at_s=5.5))
    await memory.restore(replace(middle, superseded_by=last.memory_id))
    await memory.restore(replace(hidden, superseded_by=middle.memory_id))
    return [entry async for entry in memory.entries()]


def without_numbers(entries: list[MemoryEntry]) -> list[tuple[MemoryEntry, str]]:
    """What hides what is said by keys."""
    keys = {entry.memory_id: entry.key for entry in entries}
    return sorted(
        (
            (
                replace(entry, memory_id=0, superseded_by=None),
                keys.get(entry.superseded_by or 0, ""),
            )
            for entry in entries
        ),
        key=lambda pair: pair[0].key,
    )


@pytest.mark.parametrize("source_name", BACKENDS)
@pytest.mark.parametrize("target_name", BACKENDS)
async def test_everything_comes_over_from_each_to_each(
    source_name: Backend, target_name: Backend, open_one: Open
) -> None:
    source, target = open_one(source_name, "old"), open_one(target_name, "new")
    before = await filled(source)
    # Numbers differ in the target
    await target.store("here", "already", scope=TOM)
    done = await migrate(source, target, nothing)
    assert (done.carried, done.already, done.newer, done.wrong) == (6, 0, 0, ())
    after = [entry async for entry in target.entries() if entry.key != "here"]
    assert without_numbers(after) == without_numbers(before)
    assert [entry async for entry in source.entries()] == before
    again = await migrate(source, target, nothing)
    assert (again.carried, again.already, again.wrong) == (0, 6, ())


class Interrupted(SqliteMemory):
    """Its disk is full after a few."""

    left = 3

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        if not self.left:
            raise MemoryUnavailable("the disk is full")
        self.left -= 1
        return await super().restore(entry)


async def test_an_interrupted_one_goes_on_where_it_was(open_one: Open, tmp_path: Path) -> None:
    source = open_one("document", "old")
    before = await filled(source)
    target = Interrupted(tmp_path / "new.db", NoEmbedder(), SteppedClock())
    with pytest.raises(MemoryUnavailable, match="disk is full"):
        await migrate(source, target, nothing)
    target.left = 100
    steps: list[tuple[int, int]] = []
    done = await migrate(source, target, lambda *step: steps.append(step))
    assert (done.carried, done.already, done.wrong) == (3, 3, ())
    assert steps == [(number, 6) for number in range(1, 7)]
    after = [entry async for entry in target.entries()]
    assert without_numbers(after) == without_numbers(before)
    await target.aclose()


async def test_what_is_newer_there_stays_and_what_was_changed_comes(open_one: Open) -> None:
    source, target = open_one("document", "old"), open_one("sqlite", "new")
    kept = await source.store("a", "the old word", scope=MEI)
    await target.restore(replace(kept, content="the new word", updated_at_s=kept.updated_at_s + 9))
    older = await source.store("b", "the new word", scope=MEI)
    await target.restore(replace(older, content="the old word"))
    done = await migrate(source, target, nothing)
    assert (done.carried, done.newer, done.wrong) == (1, 1, ())
    assert {entry.content for entry in await target.list(MEI)} == {"the new word"}


async def test_a_hidden_memory_that_came_back_in_between_is_hidden_again(open_one: Open) -> None:
    source, target = open_one("sqlite", "old"), open_one("sqlite", "new")
    before = await filled(source)
    await migrate(source, target, nothing)
    # What hides a2 and so a1 is other than it was, and older
    (third,) = [entry for entry in before if entry.key == "a3"]
    there = await target.get("a3", MEI)
    assert there is not None
    await target.restore(replace(there, content="changed", updated_at_s=1.0))
    assert (await migrate(source, target, nothing)).wrong == ()
    assert [entry.content for entry in await target.list(MEI) if entry.key != "c"] == [
        third.content
    ]


class Forgetful(SqliteMemory):
    """Takes a memory and keeps half of it."""

    async def restore(self, entry: MemoryEntry) -> MemoryEntry:
        return await super().restore(replace(entry, content=entry.content[:3]))


async def test_what_the_target_does_not_give_back_is_named(open_one: Open, tmp_path: Path) -> None:
    source = open_one("document", "old")
    await source.store("a", "content", scope=MEI)
    target = Forgetful(tmp_path / "new.db", NoEmbedder(), SteppedClock())
    assert (await migrate(source, target, nothing)).wrong == ("a",)
    await target.aclose()


def test_what_hides_comes_first_and_a_circle_is_no_trap() -> None:
    def entry(number: int, by: int | None) -> MemoryEntry:
        return MemoryEntry(
            number, f"k{number}", "", "core", Provenance.WEB, MEI, 0.0, 0.0, superseded_by=by
        )

    chain = superseders_first([entry(1, 2), entry(2, 3), entry(3, None), entry(4, 99)])
    assert [one.memory_id for one in chain] == [3, 4, 2, 1]
    circle = superseders_first([entry(1, 2), entry(2, 1), entry(3, 1)])
    assert sorted(one.memory_id for one in circle) == [1, 2, 3]
    same = superseders_first([entry(0, None), entry(0, None)])
    assert len(same) == 2
