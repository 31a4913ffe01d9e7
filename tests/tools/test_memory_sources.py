import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.errors import BadArguments
from agent.memory.base import CORE, DAILY, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Address, Effect, Provenance, ToolResult
from agent.tools.base import AnyTool, ToolContext
from agent.tools.memory import MemoryRecallTool
from agent.tools.memory_sources import MAX_SHOWN_CHARS, MemoryListTool, MemorySourceTool, day_of
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import LostMemory

OWNER = ToolContext("terminal_owner", "owner", Provenance.OWNER)
GUEST = ToolContext("terminal_guest", "guest", Provenance.USER)
PAGE = "https://example.org/tea"


@pytest.fixture
async def memory(tmp_path: Path) -> SqliteMemory:
    made = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    mine = Scope("owner", "terminal_owner")
    await made.store("sister", "Mei is my sister", scope=mine, provenance=Provenance.OWNER)
    await made.store(
        "tea", "tea heals", category=DAILY, scope=mine, provenance=Provenance.WEB, source=PAGE
    )
    await made.store("secret", "not for others", scope=Scope("guest"))
    return made


async def use(tool: AnyTool, context: ToolContext, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), context)


async def test_everything_known_is_listed_with_its_source(memory: SqliteMemory) -> None:
    result = await use(MemoryListTool(memory), OWNER)
    told = json.loads(result.text)
    assert told["count"] == 2
    assert [(one["key"], one["provenance"], one["source"]) for one in told["memories"]] == [
        ("tea", "web", PAGE),
        ("sister", "owner", ""),
    ]
    assert (result.provenance, result.source) == (Provenance.WEB, PAGE)
    await memory.aclose()


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        ({"category": CORE}, ["sister"]),
        ({"source": PAGE}, ["tea"]),
        ({"source": PAGE, "category": CORE}, []),
        ({"source": "https://example.org"}, []),
        ({"limit": 1}, ["tea"]),
    ],
    ids=str,
)
async def test_a_list_is_narrowed(
    memory: SqliteMemory, arguments: dict[str, object], keys: list[str]
) -> None:
    result = await use(MemoryListTool(memory), OWNER, **arguments)
    assert [one["key"] for one in json.loads(result.text)["memories"]] == keys
    await memory.aclose()


async def test_nobody_sees_what_is_anothers(memory: SqliteMemory) -> None:
    listed = await use(MemoryListTool(memory), GUEST)
    assert [one["key"] for one in json.loads(listed.text)["memories"]] == ["secret"]
    assert (
        json.loads((await use(MemoryListTool(memory), GUEST, source=PAGE)).text)["memories"] == []
    )
    assert not (await use(MemorySourceTool(memory), GUEST, key="tea")).success
    await memory.aclose()


async def test_it_tells_who_said_a_memory_and_when(memory: SqliteMemory) -> None:
    result = await use(MemorySourceTool(memory), OWNER, key="tea")
    assert json.loads(result.text) == {
        "key": "tea",
        "content": "tea heals",
        "category": "daily",
        "provenance": "web",
        "source": PAGE,
        "date": "2027-01-15",
        "said_by": "an outside source said it, and nobody confirmed it",
        "conversation": "terminal_owner",
        "first": "2027-01-15",
        "importance": 0.5,
        "pinned": False,
    }
    assert result.provenance is Provenance.WEB
    await memory.aclose()


async def test_it_tells_of_what_is_true_no_more_as_the_search_does(memory: SqliteMemory) -> None:
    mine = Scope("owner", "terminal_owner")
    for said in ("I live in Oslo", "I moved to Bergen"):
        newest = await memory.store("", said, scope=mine, provenance=Provenance.OWNER)
        await memory.settle(newest)
    recall = await use(MemoryRecallTool(memory), OWNER, query="where did I live before?")
    (key,) = [one["key"] for one in json.loads(recall.text)["memories"] if "true_until" in one]
    told = json.loads((await use(MemorySourceTool(memory), OWNER, key=key)).text)
    assert (told["content"], told["said_by"]) == ("I live in Oslo", "the owner said it")
    assert told["replaced_by_newer"]
    await memory.aclose()


async def test_in_a_group_it_tells_of_the_groups_memories(memory: SqliteMemory) -> None:
    place = Address("telegram", "-5", "owner")
    family = replace(OWNER, conversation="telegram_-5_owner", place=place, is_group=True)
    await memory.store("bins", "bins go out on Monday", scope=Scope(None, None, family.group))
    told = json.loads((await use(MemorySourceTool(memory), family, key="bins")).text)
    assert told["content"] == "bins go out on Monday"
    assert "replaced_by_newer" not in told
    elsewhere = await use(MemorySourceTool(memory), OWNER, key="bins")
    assert not elsewhere.success
    await memory.aclose()


async def test_a_long_memory_is_cut_in_a_list_and_whole_by_its_key(memory: SqliteMemory) -> None:
    await memory.store("long", "x" * 2000, scope=Scope("owner"))
    [listed] = json.loads((await use(MemoryListTool(memory), OWNER, limit=1)).text)["memories"]
    assert len(listed["content"]) == MAX_SHOWN_CHARS + 1
    whole = json.loads((await use(MemorySourceTool(memory), OWNER, key="long")).text)
    assert whole["content"] == "x" * 2000
    await memory.aclose()


async def test_a_lost_store_is_a_result_with_its_reason() -> None:
    for tool, arguments in (
        (MemoryListTool(LostMemory()), {}),
        (MemorySourceTool(LostMemory()), {"key": "a"}),
    ):
        result = await use(tool, OWNER, **arguments)
        assert (result.success, result.text) == (False, "the disk is gone")


def test_looking_changes_nothing_and_wants_sense() -> None:
    assert MemoryListTool.effect is MemorySourceTool.effect is Effect.READ
    for tool, arguments in (
        (MemoryListTool(LostMemory()), '{"limit": 0}'),
        (MemorySourceTool(LostMemory()), '{"key": ""}'),
        (MemorySourceTool(LostMemory()), '{"key": "a", "person": "guest"}'),
    ):
        with pytest.raises(BadArguments):
            tool.parse(arguments)


def test_a_time_that_is_none_is_no_error() -> None:
    assert day_of(1e30) == "unknown"
