"""What is known of a person and who said it, as tools: "what do you know?", "who told you that?".

Answers come from what is kept with each memory, never from a model's guess.
"""

import time
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from agent.errors import MemoryUnavailable
from agent.memory.base import MAX_SOURCE_CHARS, Curated, Memory, MemoryEntry, Scope
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, own, read
from agent.security.shares import Disclosure
from agent.tools.base import Arguments, Tool, ToolContext

MAX_LISTED = 100
# Of each memory in a list; the whole one is asked for by its key
MAX_SHOWN_CHARS = 300
_MAX_KEY_CHARS = 200

# For people: who a memory is from
SAID_BY = {
    Provenance.OWNER: "the owner said it",
    Provenance.USER: "a paired person said it",
    Provenance.SENSOR: "the board measured it",
    Provenance.MODEL: "I concluded it myself",
    Provenance.TOOL: "a file or a tool said it",
    Provenance.WEB: "it came from outside, nobody vouched for it",
}


class ListArguments(Arguments, frozen=True):
    """Which memories to list."""

    category: Annotated[
        str, Meta(description="core, daily, conversation; empty: all", max_length=32)
    ] = ""
    source: Annotated[
        str, Meta(description="Only from this page or file", max_length=MAX_SOURCE_CHARS)
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 20


class SourceArguments(Arguments, frozen=True):
    """Which memory is asked about."""

    key: Annotated[str, Meta(description="Its key", min_length=1, max_length=_MAX_KEY_CHARS)]


class MemoryListTool(Tool[ListArguments]):
    """Lists what is known of the person the turn is for, the newest first."""

    reads = Provenance.WEB
    name = "memory_list"
    description = own("List what is remembered of this person, with its sources.")
    effect = Effect.READ
    shown = Disclosure(of_asker="memories")
    arguments_type = ListArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: ListArguments, context: ToolContext) -> ToolResult:
        scope = Scope(context.person)
        try:
            found = await self._found(arguments, scope)
            count = await self._memory.count(scope)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        memories = [_listed(entry) for entry in found]
        return _read({"memories": memories, "count": count}, found)

    async def _found(self, arguments: ListArguments, scope: Scope) -> list[MemoryEntry]:
        category = arguments.category or None
        if not arguments.source:
            return await self._memory.list(scope, category, arguments.limit)
        found = await from_source(self._memory, arguments.source, scope)
        wanted = [entry for entry in found if category in {None, entry.category}]
        wanted.sort(key=lambda entry: entry.updated_at_s, reverse=True)
        return wanted[: arguments.limit]


class MemorySourceTool(Tool[SourceArguments]):
    """Tells where one memory came from."""

    reads = Provenance.WEB
    name = "memory_source"
    description = own("Tell who said a memory, where and when.")
    effect = Effect.READ
    shown = Disclosure(of_asker="memories")
    arguments_type = SourceArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: SourceArguments, context: ToolContext) -> ToolResult:
        try:
            entry = await self._memory.get(arguments.key, Scope(context.person))
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        if entry is None:
            return ToolResult.failed(own("there is no memory '{}'", echo(arguments.key)))
        told = _listed(entry) | {
            "content": entry.content,
            "said_by": SAID_BY[entry.provenance],
            "conversation": entry.scope.session or "",
            "first": day_of(entry.created_at_s),
            "importance": entry.importance,
            "pinned": entry.pinned,
        }
        return _read(told, [entry])


async def from_source(memory: Memory, source: str, scope: Scope) -> list[MemoryEntry]:
    """All that may be seen here and came from there."""
    return [
        entry
        async for entry in memory.entries()
        if entry.source == source and scope.sees(entry.scope)
    ]


async def forget_source(memory: Memory, source: str, scope: Scope) -> int:
    """Delete what the owner of the scope has from there; how many are gone."""
    if isinstance(memory, Curated):
        return await memory.forget_source(source, scope)
    own = [
        entry
        for entry in await from_source(memory, source, scope)
        if entry.scope.owner == scope.owner
    ]
    return sum([await memory.forget(entry.key, scope) for entry in own])


def source_of(entries: Sequence[MemoryEntry]) -> str:
    """Where the least trusted of them came from."""
    return min(entries, key=lambda entry: entry.provenance).source if entries else ""


def trust_of(entries: Sequence[MemoryEntry]) -> Provenance:
    """The lowest of them; where there are none nothing was read."""
    return min((entry.provenance for entry in entries), default=Provenance.OWNER)


def day_of(wall_s: float) -> str:
    """The day for people; a time that is none says so."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return "unknown"


def _listed(entry: MemoryEntry) -> dict[str, object]:
    content = entry.content
    return {
        "key": entry.key,
        "content": content if len(content) <= MAX_SHOWN_CHARS else content[:MAX_SHOWN_CHARS] + "…",
        "category": entry.category,
        "provenance": entry.provenance.name.lower(),
        "source": entry.source,
        "date": day_of(entry.updated_at_s),
    }


def _read(told: object, entries: Sequence[MemoryEntry]) -> ToolResult:
    """A result that is trusted as little as the least of what it tells."""
    return ToolResult.done(read(told, trust_of(entries), source_of(entries)))
