"""Tools that store, recall and forget long-term memories.

What is stored keeps the trust of the turn it came from; what is recalled brings it along.
"""

import logging
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from agent.errors import MemoryUnavailable
from agent.memory.base import (
    CORE,
    MAX_SOURCE_CHARS,
    Chronicled,
    Memory,
    MemoryEntry,
    Scope,
    without_recalled,
)
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, fields, own, read
from agent.security.shares import NOTHING_PRIVATE, PASSED_ON
from agent.text.printable import printable_line
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.memory_sources import day_of, forget_source, source_of, trust_of

if TYPE_CHECKING:
    from agent.tools.datasheet import Library

_log = logging.getLogger(__name__)

# A fact, not a document: five recalled ones still fit into any prompt
MAX_CONTENT_CHARS = 4000
MAX_KEY_CHARS = 100
MAX_QUERY_CHARS = 2000
MAX_RECALLED = 20
# Of documents beside the memories; who wants more searches the documents
MAX_PIECES = 2
# A memory is wanted at 0.4, see `memory.min_score`; a page has more words to fit by chance
MIN_PIECE_SCORE = 0.5
# Of a source in a question to the owner: an address is recognised by its beginning
_SHOWN_CHARS = 200


class StoreArguments(Arguments, frozen=True):
    """Content and key of a memory to store."""

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
            pattern=r"^[a-z][a-z0-9_-]{0,31}\Z",
        ),
    ] = CORE
    for_group: Annotated[
        bool, Meta(description="Only if asked in a group: for all in it, not the person alone")
    ] = False


class RecallArguments(Arguments, frozen=True):
    """Query for memories."""

    query: Annotated[
        str,
        Meta(
            description="What to look for, in the person's words; * lists the newest",
            max_length=MAX_QUERY_CHARS,
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=MAX_RECALLED)] = 5


class ForgetArguments(Arguments, frozen=True):
    """Key of the memory to delete, or a source to delete entirely."""

    key: Annotated[
        str,
        Meta(description="The key as memory_recall gave it", max_length=MAX_KEY_CHARS),
    ] = ""
    source: Annotated[
        str,
        Meta(
            description="Instead of a key: forget all that came from this page or file",
            max_length=MAX_SOURCE_CHARS,
        ),
    ] = ""

    def __post_init__(self) -> None:
        if bool(self.key) == bool(self.source):
            raise ValueError("give either `key` or `source`")


class MemoryStoreTool(Tool[StoreArguments]):
    """Stores a memory of the turn's person, or of their group."""

    reads = Provenance.WEB
    name = "memory_store"
    description = own("Remember a fact, a wish or an event beyond this conversation.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = StoreArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def execute(self, arguments: StoreArguments, context: ToolContext) -> ToolResult:
        content = without_recalled(arguments.content)
        if not content:
            return ToolResult.failed(own("this is already remembered"))
        scope = Scope(context.person, context.conversation)
        try:
            if arguments.for_group:
                from agent.tools import memory_group  # noqa: PLC0415 - groups alone need it

                if context.group is None:
                    return ToolResult.failed(own(memory_group.NO_GROUP_TEXT))
                told = (arguments.key, content, context)
                if not await memory_group.may_store(self._memory, *told):
                    return ToolResult.failed(own(memory_group.NOT_THEIRS_TEXT))
                scope = memory_group.scope_of(context)
            entry = await self._memory.store(
                arguments.key,
                content,
                category=arguments.category,
                scope=scope,
                provenance=context.provenance,
                source=context.source,
            )
            if isinstance(self._memory, Chronicled):
                await self._memory.settle(entry)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        # Its key is the argument, or made of the content
        return ToolResult.done(fields({"stored": echo(entry.key)}))


class MemoryRecallTool(Tool[RecallArguments]):
    """Finds memories of the person and the group; the result has the lowest trust among them."""

    reads = Provenance.WEB
    name = "memory_recall"
    description = own("Search what was remembered of this person, in any language.")
    effect = Effect.READ
    # In a group it shows only what was told there
    shown = PASSED_ON
    arguments_type = RecallArguments

    def __init__(self, memory: Memory, library: "Library | None" = None) -> None:
        self._memory = memory
        self._library = library

    async def execute(self, arguments: RecallArguments, context: ToolContext) -> ToolResult:
        try:
            found = await self._found(arguments, context)
            # Documents are the owner's: others are asked about by datasheet_search
            is_owner = context.audience.is_owner_alone
            pieces = await self._pieces(arguments.query) if is_owner else []
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        result: dict[str, object] = {"memories": [_told(entry) for entry in found]}
        if pieces:
            from agent.tools import datasheet  # noqa: PLC0415 - only where there are documents

            result["documents"] = [datasheet.told(piece) for piece in pieces]
        every = [*found, *pieces]
        return ToolResult.done(read(result, trust_of(every), source_of(every)))

    async def _found(self, arguments: RecallArguments, context: ToolContext) -> list[MemoryEntry]:
        scope = Scope(context.person, context.conversation, context.group)
        asked = (arguments.query, arguments.limit, scope)
        if context.is_group:
            from agent.tools import memory_group  # noqa: PLC0415 - groups alone need it

            return await memory_group.recall(self._memory, *asked)
        found = await self._memory.recall(*asked)
        if isinstance(self._memory, Chronicled):
            found = await self._memory.with_former(found, arguments.query)
        return found

    async def _pieces(self, query: str) -> list[MemoryEntry]:
        """Return pieces of documents that clearly fit, in addition to the memories."""
        if self._library is None or query.strip() in {"", "*"}:
            return []
        try:
            found = await self._library.search(query, MAX_PIECES)
        except MemoryUnavailable as err:
            # Memories are not held back by what is only put beside them
            _log.warning("memory: recall without documents: %s", err)
            return []
        return [piece for piece in found if (piece.score or 0.0) >= MIN_PIECE_SCORE]


class MemoryForgetTool(Tool[ForgetArguments]):
    """Deletes one memory of the person, or all of one source after a question."""

    reads = Provenance.WEB
    name = "memory_forget"
    description = own(
        "Delete a memory for good, or everything that came from one source. The conversation keeps "
        "what was said in it."
    )
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = ForgetArguments

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def effect_of(self, arguments: ForgetArguments) -> Effect:
        return Effect.ERASE if arguments.source else self.effect

    def in_words(self, arguments: ForgetArguments) -> str:
        if not arguments.source:
            return ""
        return f"forget everything that came from {printable_line(arguments.source, _SHOWN_CHARS)}"

    async def execute(self, arguments: ForgetArguments, context: ToolContext) -> ToolResult:
        scope = Scope(context.person, context.conversation)
        try:
            if arguments.source:
                count = await forget_source(self._memory, arguments.source, scope)
                return ToolResult.done(fields({"forgotten": count > 0, "count": count}))
            forgotten = await self._memory.forget(arguments.key, scope)
            if not forgotten and context.group is not None:
                from agent.tools import memory_group  # noqa: PLC0415 - groups alone need it

                forgotten = await memory_group.forget(self._memory, arguments.key, context)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        return ToolResult.done(fields({"forgotten": forgotten}))


def _told(entry: MemoryEntry) -> dict[str, str]:
    ended = {} if entry.until_s is None else {"true_until": day_of(entry.until_s)}
    return ended | {
        "key": entry.key,
        "content": entry.content,
        "provenance": entry.provenance.name.lower(),
        "date": day_of(entry.created_at_s),
    }
