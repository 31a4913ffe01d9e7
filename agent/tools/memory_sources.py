"""Tools that list memories and their sources: "what do you know?", "who told you that?".

Answers come from what is kept with each memory, never from a model's guess.
"""

import time
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from agent.errors import MemoryUnavailable
from agent.memory.base import (
    MAX_SOURCE_CHARS,
    Catalogued,
    Curated,
    Memory,
    MemoryEntry,
    Scope,
)
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
    Provenance.WEB: "an outside source said it, and nobody confirmed it",
}


class MemoryListArguments(Arguments, frozen=True):
    """Filter for the listed memories."""

    category: Annotated[
        str, Meta(description="core, daily, conversation; empty: all", max_length=32)
    ] = ""
    source: Annotated[
        str, Meta(description="Only from this page or file", max_length=MAX_SOURCE_CHARS)
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 20


class MemorySourceArguments(Arguments, frozen=True):
    """Key of a memory."""

    key: Annotated[str, Meta(description="Its key", min_length=1, max_length=_MAX_KEY_CHARS)]


class MemoryListTool(Tool[MemoryListArguments]):
    """Lists memories of the turn's person, newest first."""

    reads = Provenance.WEB
    name = "memory_list"
    description = own("List what is remembered of this person, with its sources.")
    effect = Effect.READ
    shown = Disclosure(of_asker="memories")
    arguments_type = MemoryListArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: MemoryListArguments, context: ToolContext) -> ToolResult:
        scope = Scope(context.person)
        try:
            found = await self._found(arguments, scope)
            count = await self._memory.count(scope)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        memories = [_listed(entry) for entry in found]
        return _read({"memories": memories, "count": count}, found)

    async def _found(self, arguments: MemoryListArguments, scope: Scope) -> list[MemoryEntry]:
        category = arguments.category or None
        if not arguments.source:
            return await self._memory.list(scope, category, arguments.limit)
        found = await from_source(self._memory, arguments.source, scope)
        wanted = [entry for entry in found if category in {None, entry.category}]
        wanted.sort(key=lambda entry: entry.updated_at_s, reverse=True)
        return wanted[: arguments.limit]


class MemorySourceTool(Tool[MemorySourceArguments]):
    """Returns the source of one memory."""

    reads = Provenance.WEB
    name = "memory_source"
    description = own("Tell who said a memory, where and when.")
    effect = Effect.READ
    shown = Disclosure(of_asker="memories")
    arguments_type = MemorySourceArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: MemorySourceArguments, context: ToolContext) -> ToolResult:
        try:
            entry = await self._entry(arguments.key, context)
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
        if entry.superseded_by is not None:
            told["replaced_by_newer"] = True
        return _read(told, [entry])

    async def _entry(self, key: str, context: ToolContext) -> MemoryEntry | None:
        """Return the memory whose key `memory_recall` told, be it the group's or true no more."""
        scopes = [Scope(context.person)]
        if context.group is not None:
            scopes.append(Scope(None, context.conversation, context.group))
        for scope in scopes:
            if (entry := await self._memory.get(key, scope)) is not None:
                return entry
        if isinstance(self._memory, Catalogued):
            for scope in scopes:
                if closed := await self._memory.doomed(key, scope):
                    return closed[0]
        return None


async def from_source(memory: Memory, source: str, scope: Scope) -> list[MemoryEntry]:
    """Return all visible memories from this source."""
    return [
        entry
        async for entry in memory.entries()
        if entry.source == source and scope.sees(entry.scope)
    ]


async def forget_source(memory: Memory, source: str, scope: Scope) -> int:
    """Delete the scope owner's memories from this source; return how many."""
    if isinstance(memory, Curated):
        return await memory.forget_source(source, scope)
    own = [
        entry
        for entry in await from_source(memory, source, scope)
        if entry.scope.owner == scope.owner
    ]
    return sum([await memory.forget(entry.key, scope) for entry in own])


def source_of(entries: Sequence[MemoryEntry]) -> str:
    """Return the source of the least trusted memory."""
    return min(entries, key=lambda entry: entry.provenance).source if entries else ""


def trust_of(entries: Sequence[MemoryEntry]) -> Provenance:
    """Return the lowest trust; OWNER if there are none."""
    return min((entry.provenance for entry in entries), default=Provenance.OWNER)


def day_of(wall_s: float) -> str:
    """Return the date for people; "unknown" for an invalid time."""
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
    """Return a result with the lowest trust of its memories."""
    return ToolResult.done(read(told, trust_of(entries), source_of(entries)))
