from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Address, Provenance, ToolResult
from agent.tools.base import AnyTool, ToolContext
from agent.tools.memory import MemoryForgetTool, MemoryRecallTool, MemoryStoreTool
from agent.tools.memory_group import NO_GROUP_TEXT, NOT_THEIRS_TEXT
from tests.fakes.clock import SteppedClock
from tests.tools.test_memory import use

GATE = "the code of the gate is 4711"
FAMILY = Address("telegram", "-5001", "anna")
ANNA = ToolContext("telegram_-5001_anna", "owner", Provenance.OWNER, place=FAMILY, is_group=True)
BEN = replace(ANNA, conversation="telegram_-5001_ben", person="ben", provenance=Provenance.USER)
ELSEWHERE = replace(BEN, place=Address("telegram", "-7007", "ben"))
ALONE = replace(BEN, place=Address("telegram", "7", "ben"), is_group=False)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    yield memory
    await memory.aclose()


async def stored(memory: SqliteMemory, context: ToolContext, **more: object) -> ToolResult:
    told = {"content": GATE, "key": "gate", "for_group": True, **more}
    return await use(MemoryStoreTool(memory), context, **told)


async def is_found(memory: SqliteMemory, context: ToolContext) -> bool:
    found = await use(MemoryRecallTool(memory), context, query="what is the code of the gate?")
    return GATE in found.text


async def used(tool: AnyTool, context: ToolContext) -> bool:
    return '"forgotten":true' in (await use(tool, context, key="gate")).text


async def test_what_is_stored_for_a_group_is_found_by_all_in_it_and_nowhere_else(
    memory: SqliteMemory,
) -> None:
    assert (await stored(memory, ANNA)).success
    assert await is_found(memory, BEN)
    assert await is_found(memory, ANNA)
    assert not await is_found(memory, ELSEWHERE)
    assert not await is_found(memory, ALONE)


async def test_what_is_stored_in_a_group_is_the_persons_unless_they_say_otherwise(
    memory: SqliteMemory,
) -> None:
    await stored(memory, ANNA, for_group=False)
    assert await is_found(memory, ANNA)
    assert not await is_found(memory, BEN)


async def test_it_keeps_the_trust_of_whoever_said_it(memory: SqliteMemory) -> None:
    await stored(memory, BEN)
    found = await use(MemoryRecallTool(memory), ANNA, query="what is the code of the gate?")
    assert found.provenance is Provenance.USER


async def test_nothing_is_for_a_group_where_there_is_none(memory: SqliteMemory) -> None:
    for context in (ALONE, replace(ANNA, place=None)):
        refused = await stored(memory, context)
        assert (refused.success, refused.text) == (False, NO_GROUP_TEXT)


@pytest.mark.parametrize("key", ["gate", ""])
async def test_the_less_trusted_replace_and_forget_nothing_of_the_more_trusted(
    memory: SqliteMemory, key: str
) -> None:
    await stored(memory, ANNA, key=key)
    refused = await stored(memory, BEN, key=key)
    assert (refused.success, refused.text) == (False, NOT_THEIRS_TEXT)
    assert not await used(MemoryForgetTool(memory), BEN)
    assert await is_found(memory, BEN)


async def test_who_is_trusted_as_much_replaces_and_forgets(memory: SqliteMemory) -> None:
    await stored(memory, BEN, content="the code of the gate is 1")
    assert (await stored(memory, ANNA)).success
    assert await is_found(memory, BEN)
    assert await used(MemoryForgetTool(memory), ANNA)
    assert not await is_found(memory, BEN)


async def test_what_everybody_knows_is_not_the_groups_to_forget(memory: SqliteMemory) -> None:
    await memory.store("gate", GATE, scope=Scope(), provenance=Provenance.OWNER)
    assert not await used(MemoryForgetTool(memory), BEN)
    assert await is_found(memory, BEN)
    assert (await stored(memory, BEN, content="another gate is open")).success
