"""Long-term memory as tools: a model stores, recalls and forgets what is worth keeping.

What is stored keeps the trust of the turn it came from; what is recalled brings it along.
"""

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.errors import MemoryUnavailable
from agent.memory.base import CORE, Memory, MemoryEntry, Scope
from agent.messages import Effect, ToolResult
from agent.tools.base import Arguments, Tool, ToolContext

# A fact, not a document: five recalled ones still fit into any prompt
MAX_CONTENT_CHARS = 4000
MAX_KEY_CHARS = 100
MAX_QUERY_CHARS = 2000
MAX_RECALLED = 20


class StoreArguments(Arguments, frozen=True):
    """What to remember."""

    content: Annotated[
        str,
        Meta(
            description="One fact, as a sentence that is clear by itself",
            min_length=1,
            max_length=MAX_CONTENT_CHARS,
        ),
    ]
    key: Annotated[
        str,
        Meta(
            description="Short name; a memory with the same name is replaced. Usually empty",
            max_length=MAX_KEY_CHARS,
        ),
    ] = ""
    category: Annotated[
        str,
        Meta(
            description="core: lasting facts and wishes; daily: what happened",
            pattern="^[a-z][a-z0-9_-]{0,31}$",
        ),
    ] = CORE


class RecallArguments(Arguments, frozen=True):
    """What to look for."""

    query: Annotated[
        str,
        Meta(
            description="What to look for, in the person's words; * lists the newest",
            max_length=MAX_QUERY_CHARS,
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=MAX_RECALLED)] = 5


class ForgetArguments(Arguments, frozen=True):
    """Which memory to delete."""

    key: Annotated[
        str,
        Meta(
            description="The key as memory_recall gave it",
            min_length=1,
            max_length=MAX_KEY_CHARS,
        ),
    ]


class MemoryStoreTool(Tool[StoreArguments]):
    """Keeps a memory of the person the turn is for."""

    name = "memory_store"
    description = "Remember a fact, a wish or an event beyond this conversation."
    effect = Effect.WRITE
    arguments_type = StoreArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: StoreArguments, context: ToolContext) -> ToolResult:
        try:
            entry = await self._memory.store(
                arguments.key,
                arguments.content,
                category=arguments.category,
                scope=Scope(context.person, context.conversation),
                provenance=context.provenance,
            )
        except MemoryUnavailable as err:
            return ToolResult(success=False, text=str(err))
        return ToolResult(success=True, text=_json({"stored": entry.key}))


class MemoryRecallTool(Tool[RecallArguments]):
    """Finds the person's memories; the result is trusted as little as the least of them."""

    name = "memory_recall"
    description = "Search what was remembered of this person, in any language."
    effect = Effect.READ
    arguments_type = RecallArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: RecallArguments, context: ToolContext) -> ToolResult:
        scope = Scope(context.person, context.conversation)
        try:
            found = await self._memory.recall(arguments.query, arguments.limit, scope)
        except MemoryUnavailable as err:
            return ToolResult(success=False, text=str(err))
        return ToolResult(
            success=True,
            text=_json({"memories": [_told(entry) for entry in found]}),
            provenance=min((entry.provenance for entry in found), default=None),
        )


class MemoryForgetTool(Tool[ForgetArguments]):
    """Deletes a memory of the person the turn is for."""

    name = "memory_forget"
    description = "Delete a memory for good."
    effect = Effect.WRITE
    arguments_type = ForgetArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: ForgetArguments, context: ToolContext) -> ToolResult:
        scope = Scope(context.person, context.conversation)
        try:
            forgotten = await self._memory.forget(arguments.key, scope)
        except MemoryUnavailable as err:
            return ToolResult(success=False, text=str(err))
        return ToolResult(success=True, text=_json({"forgotten": forgotten}))


def _told(entry: MemoryEntry) -> dict[str, str]:
    return {
        "key": entry.key,
        "content": entry.content,
        "provenance": entry.provenance.name.lower(),
        "date": time.strftime("%Y-%m-%d", time.localtime(entry.updated_at_s)),
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
