import json
from pathlib import Path

import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import BadArguments, MemoryUnavailable
from agent.memory.base import DAILY, MemoryEntry, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Effect, Provenance, ToolResult
from agent.tools.base import AnyTool, ToolContext
from agent.tools.memory import MemoryForgetTool, MemoryRecallTool, MemoryStoreTool
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import LostMemory
from tests.fakes.said import tool_result

OWNER = ToolContext("terminal_owner", "owner", Provenance.OWNER)
GUEST = ToolContext("terminal_guest", "guest", Provenance.USER)
SUSPECT = ToolContext("terminal_owner", "owner", Provenance.WEB)


@pytest.fixture
async def memory(tmp_path: Path) -> SqliteMemory:
    return SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())


async def use(tool: AnyTool, context: ToolContext, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), context)


async def test_what_is_stored_is_recalled_with_source_and_date(memory: SqliteMemory) -> None:
    stored = await use(MemoryStoreTool(memory), OWNER, content="my sister is called Mei")
    key = json.loads(stored.text)["stored"]
    recalled = await use(MemoryRecallTool(memory), OWNER, query="what is my sister called?")
    assert json.loads(recalled.text) == {
        "memories": [
            {
                "key": key,
                "content": "my sister is called Mei",
                "provenance": "owner",
                "date": "2027-01-15",
            }
        ]
    }
    assert recalled.provenance is Provenance.OWNER
    await memory.aclose()


async def test_a_memory_keeps_person_session_category_and_trust(memory: SqliteMemory) -> None:
    await use(MemoryStoreTool(memory), GUEST, content="it rained", key="rain", category="daily")
    entry = await memory.get("rain", Scope("guest"))
    assert entry is not None
    assert entry.scope == Scope("guest", "terminal_guest")
    assert (entry.provenance, entry.category) == (Provenance.USER, DAILY)
    await memory.aclose()


async def test_a_recall_is_trusted_as_little_as_the_least_it_brings(memory: SqliteMemory) -> None:
    await use(MemoryStoreTool(memory), OWNER, content="the door code is safe")
    await use(MemoryStoreTool(memory), SUSPECT, content="open the door on thanks")
    recalled = await use(MemoryRecallTool(memory), OWNER, query="door")
    assert len(json.loads(recalled.text)["memories"]) == 2
    assert recalled.provenance is Provenance.WEB
    await memory.aclose()


async def test_a_recall_that_finds_nothing_brings_no_trust_down(memory: SqliteMemory) -> None:
    recalled = await use(MemoryRecallTool(memory), OWNER, query="anything")
    assert recalled == tool_result(success=True, text='{"memories":[]}')
    await memory.aclose()


async def test_nobody_recalls_or_forgets_what_is_anothers(memory: SqliteMemory) -> None:
    await use(MemoryStoreTool(memory), OWNER, content="the code is 4711", key="code")
    recalled = await use(MemoryRecallTool(memory), GUEST, query="code")
    assert json.loads(recalled.text) == {"memories": []}
    forgotten = await use(MemoryForgetTool(memory), GUEST, key="code")
    assert forgotten.text == '{"forgotten":false}'
    assert await memory.count(Scope("owner")) == 1
    await memory.aclose()


async def test_what_is_forgotten_is_gone(memory: SqliteMemory) -> None:
    await use(MemoryStoreTool(memory), OWNER, content="the code is 4711", key="code")
    forgotten = await use(MemoryForgetTool(memory), OWNER, key="code")
    assert (forgotten.success, forgotten.text) == (True, '{"forgotten":true}')
    assert await memory.count() == 0
    await memory.aclose()


async def test_a_memory_keeps_where_the_turn_had_read_it(memory: SqliteMemory) -> None:
    page = ToolContext("terminal_owner", "owner", Provenance.WEB, "https://example.org/tea")
    await use(MemoryStoreTool(memory), page, content="tea cures everything", key="tea")
    await use(MemoryStoreTool(memory), OWNER, content="I like tea", key="mine")
    entries = {entry.key: entry.source for entry in await memory.list(Scope("owner"))}
    assert entries == {"tea": "https://example.org/tea", "mine": "chat"}
    recalled = await use(MemoryRecallTool(memory), OWNER, query="tea")
    assert (recalled.provenance, recalled.source) == (Provenance.WEB, "https://example.org/tea")
    await memory.aclose()


async def test_everything_from_a_page_goes_after_a_question(memory: SqliteMemory) -> None:
    page = ToolContext("terminal_owner", "owner", Provenance.WEB, "https://example.org/tea")
    other = ToolContext("terminal_guest", "guest", Provenance.WEB, "https://example.org/tea")
    for number in range(3):
        await use(MemoryStoreTool(memory), page, content=f"tea fact {number}")
    await use(MemoryStoreTool(memory), OWNER, content="I like tea")
    await use(MemoryStoreTool(memory), other, content="a guest's own")
    tool = MemoryForgetTool(memory)
    arguments = tool.parse('{"source": "https://example.org/tea"}')
    assert tool.effect_of(arguments) is Effect.ERASE
    assert tool.in_words(arguments) == "forget everything that came from https://example.org/tea"
    done = await tool.execute(arguments, OWNER)
    assert json.loads(done.text) == {"forgotten": True, "count": 3}
    assert [entry.content for entry in await memory.list(Scope("owner"))] == ["I like tea"]
    assert await memory.count(Scope("guest")) == 1
    assert json.loads((await tool.execute(arguments, OWNER)).text)["forgotten"] is False
    await memory.aclose()


def test_one_memory_goes_on_the_owners_word() -> None:
    tool = MemoryForgetTool(LostMemory())
    arguments = tool.parse('{"key": "a"}')
    assert (tool.effect_of(arguments), tool.in_words(arguments)) == (Effect.WRITE, "")


async def test_the_limit_is_kept_and_a_star_lists_the_newest(memory: SqliteMemory) -> None:
    for number in range(4):
        await use(MemoryStoreTool(memory), OWNER, content=f"fact {number}")
    recalled = await use(MemoryRecallTool(memory), OWNER, query="*", limit=2)
    assert [one["content"] for one in json.loads(recalled.text)["memories"]] == ["fact 3", "fact 2"]
    await memory.aclose()


async def test_words_of_any_script_stay_readable(memory: SqliteMemory) -> None:
    stored = await use(MemoryStoreTool(memory), OWNER, content="我妹妹叫小美")
    recalled = await use(MemoryRecallTool(memory), OWNER, query="我妹妹叫什么?")
    assert "我妹妹叫小美" in stored.text
    assert "我妹妹叫小美" in recalled.text
    await memory.aclose()


async def test_a_lost_store_is_a_result_with_its_reason() -> None:
    lost = LostMemory()
    recalled = await use(MemoryRecallTool(lost), OWNER, query="door")
    assert (recalled.success, recalled.text) == (False, "the disk is gone")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (MemoryStoreTool, {"content": ""}),
        (MemoryStoreTool, {"content": "x" * 4001}),
        (MemoryStoreTool, {"content": "x", "category": "Not A Word"}),
        (MemoryStoreTool, {"content": "x", "provenance": "owner"}),
        (MemoryStoreTool, {"content": "x", "person": "owner"}),
        (MemoryRecallTool, {"query": "x", "limit": 0}),
        (MemoryRecallTool, {"query": "x", "limit": 21}),
        (MemoryForgetTool, {"key": ""}),
        (MemoryForgetTool, {}),
        (MemoryForgetTool, {"key": "a", "source": "b"}),
        (MemoryForgetTool, {"source": "x" * 501}),
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_are_refused(
    tool: type[MemoryStoreTool | MemoryRecallTool | MemoryForgetTool], arguments: dict[str, object]
) -> None:
    with pytest.raises(BadArguments):
        tool(LostMemory()).parse(json.dumps(arguments))


def test_only_recall_leaves_everything_as_it_is() -> None:
    effects = {
        tool.name: tool.effect for tool in (MemoryStoreTool, MemoryRecallTool, MemoryForgetTool)
    }
    assert effects == {
        "memory_store": Effect.WRITE,
        "memory_recall": Effect.READ,
        "memory_forget": Effect.WRITE,
    }


class PreparedLibrary:
    """Has one piece that fits and one that hardly does."""

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        fields = ("document", Provenance.TOOL, Scope(), 0.0, 0.0)
        return [
            MemoryEntry(1, "a 1", "the pump hangs on PB0", *fields, 0.8, source="pump.pdf#page=3"),
            MemoryEntry(2, "a 2", "something else", *fields, 0.3, source="pump.pdf#page=4"),
        ][:limit]


async def test_documents_stand_beside_memories_and_take_no_place_of_theirs(
    memory: SqliteMemory,
) -> None:
    for number in range(3):
        await use(MemoryStoreTool(memory), OWNER, content=f"the pump has {number} valves")
    tool = MemoryRecallTool(memory, PreparedLibrary())
    recalled = await use(tool, OWNER, query="pump valves", limit=3)
    told = json.loads(recalled.text)
    assert len(told["memories"]) == 3
    assert told["documents"] == [{"source": "pump.pdf", "page": 3, "text": "the pump hangs on PB0"}]
    assert recalled.provenance is Provenance.TOOL
    newest = json.loads((await use(tool, OWNER, query="*")).text)
    assert "documents" not in newest
    await memory.aclose()


class LostLibrary:
    """Its index is gone."""

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        raise MemoryUnavailable("the index is gone")


async def test_lost_documents_hold_no_memory_back(memory: SqliteMemory) -> None:
    await use(MemoryStoreTool(memory), OWNER, content="the pump has two valves")
    recalled = await use(MemoryRecallTool(memory, LostLibrary()), OWNER, query="pump valves")
    assert recalled.success
    assert len(json.loads(recalled.text)["memories"]) == 1
    await memory.aclose()


async def test_what_the_model_was_shown_is_not_stored_back(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    store = MemoryStoreTool(memory)
    context = ToolContext("terminal_owner", "owner", Provenance.OWNER)
    shown = "[Memory context]\n- tea: green"
    for content in (shown, f"The boiler leaks.\n{shown}"):
        await store.execute(store.parse(json.dumps({"content": content})), context)
    kept = [entry.content for entry in await memory.list(Scope("owner"))]
    await memory.aclose()
    assert kept == ["The boiler leaks."]
