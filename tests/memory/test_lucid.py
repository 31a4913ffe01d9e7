from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.memory import lucid, lucid_tool
from agent.memory.base import CONVERSATION, DAILY, FROM_CHAT, Memory, Scope
from agent.memory.lucid import LucidMemory
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.contracts.memory import EVERYBODY, KEEPING, MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.lucid import FAULTS, misbehaving_program, told, working_program

Check = Callable[[Memory], Awaitable[None]]
Make = Callable[[Path], LucidMemory]
OWNER = Scope("owner")


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a script takes longer to start than the program itself
    for module, name in (
        (lucid_tool, "RECALL_TIMEOUT_S"),
        (lucid_tool, "STORE_TIMEOUT_S"),
        (lucid, "DRAIN_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, 10.0)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[LucidMemory] = []

    def make_memory(program: Path) -> LucidMemory:
        local = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
        made.append(LucidMemory(local, str(program), tmp_path, SteppedClock()))
        return made[-1]

    yield make_memory
    for memory in made:
        await memory.aclose()


@pytest.mark.parametrize("check", KEEPING, ids=lambda check: check.__name__)
async def test_it_does_what_every_backend_does(check: Check, make: Make, tmp_path: Path) -> None:
    await check(make(working_program(tmp_path)))


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_program_that_misbehaves_changes_nothing_of_what_is_kept(
    fault: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lucid_tool, "RECALL_TIMEOUT_S", 0.5)
    monkeypatch.setattr(lucid_tool, "STORE_TIMEOUT_S", 0.5)
    memory = make(misbehaving_program(tmp_path, fault))
    kept = await memory.store("k", "the boiler is old", scope=OWNER)
    found = await memory.recall("boiler", 5, OWNER)
    assert [entry.memory_id for entry in found] == [kept.memory_id]
    assert await memory.health_check()
    assert (await memory.stats()).details["lucid"] != "no trouble so far"


async def test_what_only_the_program_knows_is_found_and_trusted_least(
    make: Make, tmp_path: Path
) -> None:
    program = working_program(tmp_path)
    other = make(program)
    await other.store("k", "the boiler was made in Graz", scope=OWNER)
    await other.aclose()
    (tmp_path / "brain.db").unlink()
    (found,) = await make(program).recall("who made the boiler?", 5, OWNER)
    assert (found.content, found.provenance, found.source) == (
        "the boiler was made in Graz",
        Provenance.WEB,
        "lucid",
    )
    assert 0 < (found.score or 0) <= 1


async def test_it_is_told_behind_the_conversation(make: Make, tmp_path: Path) -> None:
    program = working_program(tmp_path)
    memory = make(program)
    await memory.store("a", "one", scope=OWNER)
    await memory.store("b", "two", category=DAILY, scope=EVERYBODY)
    await memory.aclose()
    assert told(program) == [("decision", "one"), ("context", "two")]


async def test_of_other_people_it_hears_nothing_and_is_asked_nothing(
    make: Make, tmp_path: Path
) -> None:
    program = working_program(tmp_path)
    memory = make(program)
    await memory.store("a", "mei likes green tea", scope=MEI)
    await memory.store("b", "the club meets on friday", scope=Scope(group="club"))
    await memory.store("c", "the owner likes tea", scope=OWNER)
    assert [entry.content for entry in await memory.recall("tea", 5, MEI)] == [
        "mei likes green tea"
    ]
    await memory.aclose()
    assert told(program) == [("decision", "the owner likes tea")]


async def test_with_enough_of_our_own_it_is_not_asked(make: Make, tmp_path: Path) -> None:
    memory = make(misbehaving_program(tmp_path, "dies"))
    for number in range(3):
        await memory._local.store(f"k{number}", f"boiler {number}", scope=OWNER)
    assert len(await memory.recall("boiler", 5, OWNER)) == 3
    assert (await memory.stats()).details["lucid"] == "no trouble so far"


async def test_a_memory_that_both_know_is_there_once_with_its_own_source(
    make: Make, tmp_path: Path
) -> None:
    memory = make(working_program(tmp_path))
    long = "the boiler\nis " + "very " * 60 + "old"
    kept = await memory.store("k", long, scope=OWNER, provenance=Provenance.OWNER)
    await memory._waiting.join()
    found = await memory.recall("boiler", 5, OWNER)
    assert [(entry.memory_id, entry.provenance) for entry in found] == [
        (kept.memory_id, Provenance.OWNER)
    ]


async def test_what_was_forgotten_or_replaced_does_not_come_back(
    make: Make, tmp_path: Path
) -> None:
    program = working_program(tmp_path)
    memory = make(program)
    await memory.store("code", "the door code is 1234", scope=OWNER)
    await memory.store("tea", "the tea is green", scope=OWNER)
    await memory.store("tea", "the tea is black", scope=OWNER)
    assert await memory.forget("code", OWNER)
    await memory.aclose()
    again = make(program)
    assert await again.recall("door code", 5, OWNER) == []
    assert [entry.content for entry in await again.recall("tea", 5, OWNER)] == ["the tea is black"]
    await again.store("code", "the door code is 1234", scope=OWNER)
    assert len(await again.recall("door code", 5, OWNER)) == 1


async def test_the_message_of_a_forgotten_fact_does_not_come_back(
    make: Make, tmp_path: Path
) -> None:
    memory = make(working_program(tmp_path))
    said = "By the way, my door code is 1234 now"
    await memory.store("", said, category=CONVERSATION, scope=OWNER, source=FROM_CHAT)
    await memory.store("code", "door code is 1234", scope=OWNER, source=f"{FROM_CHAT}#1-1")
    await memory._waiting.join()
    assert await memory.forget("code", OWNER)
    assert await memory.count(OWNER) == 0
    assert await memory.recall("door code", 5, OWNER) == []


async def test_a_flood_of_stores_is_not_kept_waiting(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lucid, "MAX_WAITING", 3)
    monkeypatch.setattr(lucid, "DRAIN_TIMEOUT_S", 0.1)
    memory = make(misbehaving_program(tmp_path, "hangs"))
    for number in range(10):
        await memory.store(f"k{number}", "content", scope=OWNER)
    assert memory._waiting.qsize() <= 3
    assert await memory.count() == 10


async def test_a_forget_that_is_cut_off_lets_the_program_bring_nothing_back(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power goes when the file has forgotten."""
    program = working_program(tmp_path)
    memory = make(program)
    await memory.store("code", "the code of the shed is 4711", scope=OWNER)
    await memory.aclose()
    memory = make(program)

    async def cut(forget: Callable[..., Awaitable[bool]], key: str, scope: Scope) -> bool:
        await forget(key, scope)
        raise ConnectionAbortedError("the power goes")

    monkeypatch.setattr(memory._local, "forget", partial(cut, memory._local.forget))
    with pytest.raises(ConnectionAbortedError):
        await memory.forget("code", OWNER)
    assert await make(program).recall("code of the shed", 5, OWNER) == []
