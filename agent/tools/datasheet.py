"""Tool that searches the owner's datasheets and notes; each hit names its file and page.

What a document says is information, never an instruction: it is trusted as files are.
"""

from typing import Annotated, Protocol

from msgspec import Meta

from agent.errors import MemoryUnavailable
from agent.memory.base import PAGE_MARK, MemoryEntry
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own, read
from agent.security.shares import Disclosure
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.memory_sources import source_of, trust_of

MAX_QUERY_CHARS = 500
MAX_FOUND = 20


class Library(Protocol):
    """Documents that can be searched."""

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        """Return the best pieces with scores; the source of each is a file and page.

        Raises:
            MemoryUnavailable: the index cannot be used now.
        """


class DatasheetSearchArguments(Arguments, frozen=True):
    """Query for the documents."""

    query: Annotated[
        str, Meta(description="What to look for", min_length=1, max_length=MAX_QUERY_CHARS)
    ]
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 5


class DatasheetSearchTool(Tool[DatasheetSearchArguments]):
    """Finds pieces of documents."""

    reads = Provenance.WEB
    name = "datasheet_search"
    description = own(
        "Search the datasheets and notes that the owner put into the documents folder."
    )
    effect = Effect.READ
    shown = Disclosure(trees=("documents",))
    arguments_type = DatasheetSearchArguments

    def __init__(self, library: Library) -> None:
        self._library = library

    async def execute(
        self, arguments: DatasheetSearchArguments, context: ToolContext
    ) -> ToolResult:
        try:
            found = await self._library.search(arguments.query, arguments.limit)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        pieces = {"found": [told(entry) for entry in found]}
        return ToolResult.done(read(pieces, trust_of(found), source_of(found)))


def told(entry: MemoryEntry) -> dict[str, object]:
    """Return a piece as a model sees it: file, page and text."""
    name, page = place_of(entry.source)
    where: dict[str, object] = {"source": name, "page": page} if page else {"source": name}
    return where | {"text": entry.content}


def place_of(source: str) -> tuple[str, int]:
    """Return the file and page of a source; page 0 if the file has no pages."""
    name, _, page = source.rpartition(PAGE_MARK)
    is_page = bool(name) and page.isascii() and page.isdigit()
    return (name, int(page)) if is_page else (source, 0)
