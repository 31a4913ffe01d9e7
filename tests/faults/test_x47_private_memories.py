"""X47: what a person told the agent elsewhere enters no group, whichever way is tried.

What was said in the group, what was stored for it and what is everybody's may be heard there.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.consolidation import Consolidation
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.messages import Address, Inbound, Provenance
from agent.messaging.inbox import answered_since
from agent.providers.base import ChatRequest, ChatResponse, Provider
from agent.tools.base import AnyTool, ToolContext
from agent.tools.files import FileReadTool
from agent.tools.memory import MemoryForgetTool, MemoryRecallTool
from agent.tools.memory_sources import MemoryListTool, MemorySourceTool
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import HeldClock, SteppedClock
from tests.fakes.dispatching import Running, prompt_of, running
from tests.fakes.provider import calls
from tests.tools.test_memory import use
from tests.waits import wait_until

SECRET = "the surprise party for Ben is happening on Saturday"
CHOIR = "the choir is happening in the school on Saturday"
BOILER = "everybody knows that on Saturday the boiler is happening to be serviced"
ASKED = "what is happening on Saturday?"
GROUP = Address("fake", "family", "owner")
IN_GROUP = ToolContext("fake_family_owner", "owner", Provenance.OWNER, place=GROUP, is_group=True)


class Repeating(Provider):
    """Repeats what a tool has told it, and calls one tool where it is given one."""

    name = "repeating"

    def __init__(self, tool: str = "", arguments: dict[str, object] | None = None) -> None:
        self._tool = tool
        self._arguments = arguments or {}
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self._tool and not request.messages[-1].call_id:
            return calls((self._tool, json.dumps(self._arguments)))
        return ChatResponse(request.messages[-1].text)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    made = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    own = Scope("owner", "fake_chat_owner")
    for number in range(30):
        await made.store(
            f"secret {number}", f"{SECRET}, {number}", scope=own, provenance=Provenance.OWNER
        )
    await made.store("", CHOIR, scope=Scope(None, None, GROUP.chat), provenance=Provenance.OWNER)
    await made.store("", BOILER, scope=Scope(), provenance=Provenance.OWNER)
    yield made
    await made.aclose()


def in_group(text: str, number: int = 1, who: str = "owner") -> Inbound:
    return replace(message(text, str(number), who), is_group=True, reply_target="family")


async def answered(agent: Running, channel: FakeChannel, said: Inbound) -> None:
    before = len(channel.sent)
    await agent.dispatcher.deliver(said, agent.tasks)
    await channel.wait_for(before + 1)


async def told_in_group(
    folder: Path, memory: SqliteMemory, provider: Repeating, tools: Sequence[AnyTool] = ()
) -> tuple[str, str]:
    """Ask in the group; return what the model read and what the group was sent."""
    channel = FakeChannel(Answer.NO)
    async with (
        asyncio.timeout(30),
        running(folder, provider, channel, memory, tools) as agent,
    ):
        await answered(agent, channel, in_group(ASKED))
    read = "\n".join(prompt_of(request) for request in provider.requests)
    return read, "\n".join(one.text for one in channel.sent)


async def test_recall(tmp_path: Path, memory: SqliteMemory) -> None:
    read, _ = await told_in_group(tmp_path, memory, Repeating())
    assert SECRET not in read
    assert CHOIR in read
    assert BOILER in read


async def test_what_is_pinned(tmp_path: Path, memory: SqliteMemory) -> None:
    assert await memory.mark("secret 3", Scope("owner"), pinned=True)
    rule = "always answer in one sentence"
    group = Scope(None, None, GROUP.chat)
    await memory.store("rule", rule, scope=group, provenance=Provenance.OWNER)
    assert await memory.mark("rule", group, pinned=True)
    read, _ = await told_in_group(tmp_path, memory, Repeating())
    assert SECRET not in read
    assert rule in read


async def test_the_recall_tool_however_much_is_private(memory: SqliteMemory) -> None:
    found = await use(MemoryRecallTool(memory), IN_GROUP, query=ASKED, limit=2)
    assert SECRET not in found.text
    assert CHOIR in found.text
    assert BOILER in found.text


async def test_the_recall_tool_in_a_job_of_the_group(memory: SqliteMemory) -> None:
    in_job = replace(IN_GROUP, conversation="fake_family_job-tea_owner", place=None)
    found = await use(MemoryRecallTool(memory), in_job, query=ASKED)
    assert SECRET not in found.text
    assert BOILER in found.text


@pytest.mark.parametrize(
    ("name", "arguments"), [("memory_list", {}), ("memory_source", {"key": "secret 3"})]
)
async def test_tools_that_list_and_name_sources_without_a_yes(
    name: str, arguments: dict[str, object], tmp_path: Path, memory: SqliteMemory
) -> None:
    tools = [MemoryListTool(memory), MemorySourceTool(memory)]
    provider = Repeating(name, arguments)
    read, sent = await told_in_group(tmp_path, memory, provider, tools)
    assert len(provider.requests) > 1
    assert SECRET not in read + sent


async def test_what_was_true_before(memory: SqliteMemory) -> None:
    """What was said in the group closed what was said elsewhere, and does not bring it along."""
    own = Scope("owner", "fake_chat_owner")
    await memory.store("", "my sister is Ana", scope=own, provenance=Provenance.OWNER)
    there = Scope("owner", "fake_family_owner")
    new = await memory.store("", "my sister is Mei", scope=there, provenance=Provenance.OWNER)
    assert await memory.settle(new)
    found = await use(MemoryRecallTool(memory), IN_GROUP, query="who was my sister before?")
    assert "Mei" in found.text
    assert "Ana" not in found.text


async def test_old_turns_of_another_conversation(tmp_path: Path) -> None:
    provider, channel = Repeating(), FakeChannel()
    async with asyncio.timeout(30), running(tmp_path, provider, channel) as agent:
        for number in range(3):
            await answered(agent, channel, message(f"{SECRET} ({number})", f"private {number}"))
        provider.requests.clear()
        await answered(agent, channel, in_group("hello"))
        await answered(agent, channel, in_group("what did I say?", 2))
    assert SECRET not in "\n".join(map(prompt_of, provider.requests))


@pytest.mark.parametrize("path", ["../MEMORY_SNAPSHOT.md", "MEMORY_SNAPSHOT.md"])
async def test_the_snapshot(path: str, tmp_path: Path, memory: SqliteMemory) -> None:
    written = await take_snapshot(memory, tmp_path)
    assert SECRET in written.path.read_text()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    provider = Repeating("file_read", {"path": path})
    read, sent = await told_in_group(tmp_path, memory, provider, [FileReadTool(workspace)])
    assert len(provider.requests) > 1
    assert SECRET not in read + sent


async def test_what_somebody_else_said_there_is_heard_and_can_be_taken_back(
    tmp_path: Path,
) -> None:
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    provider, channel = Repeating(), FakeChannel()
    told = "the rehearsal of the choir is on Thursday"
    private = "the rehearsal of the choir bores me"
    ben = replace(in_group(told, 1, "ben"), person="ben", provenance=Provenance.USER)
    async with asyncio.timeout(30), running(tmp_path, provider, channel, memory) as agent:
        await answered(agent, channel, ben)
        alone = replace(message(private, "2", "ben"), person="ben", provenance=Provenance.USER)
        await answered(agent, channel, alone)
        await wait_until(agent.is_idle)
        listen = partial(answered_since, agent.journal)
        keeper = Consolidation(listen, memory, None, tmp_path / "state.json", HeldClock())
        await keeper.keep()
        provider.requests.clear()
        await answered(agent, channel, in_group("when is the rehearsal of the choir?", 3))
    [request] = provider.requests
    assert told in prompt_of(request)
    assert private not in prompt_of(request)
    [said] = [one for one in await memory.list(Scope("ben")) if one.content == told]
    bens = ToolContext("fake_family_ben", "ben", Provenance.USER, place=GROUP, is_group=True)
    assert '"forgotten":true' in (await use(MemoryForgetTool(memory), bens, key=said.key)).text
    assert told not in {one.content async for one in memory.entries()}
    await memory.aclose()
