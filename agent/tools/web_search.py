"""Tool that searches the web with the owner's service. Nothing of its result is trusted."""

import html
import re
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.errors import BarnacleError, NetworkError
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own, read
from agent.security.act import Pattern
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.search_services import Hit, SearchService
from agent.tools.web import Web, WebAnswer, seen

# The least of what the services take
MAX_QUERY_CHARS = 400
MAX_HITS = 20
MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
MAX_LINK_CHARS = 1000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,100}>")
_SUCCESS = 200


class WebSearchArguments(Arguments, frozen=True):
    """Query for the web."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS)] = 5


class WebSearchTool(Tool[WebSearchArguments]):
    """Finds pages."""

    reads = Provenance.WEB
    name = "web_search"
    description = own("Search the web: titles, addresses and a few words of each page.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = WebSearchArguments

    def __init__(self, web: Web, service: SearchService) -> None:
        self._web = web
        self._service = service

    def always_for(self, arguments: WebSearchArguments) -> Pattern:
        name = self._service.name
        return Pattern({"service": name}, f"searching the web with {name}, any words")

    async def execute(self, arguments: WebSearchArguments, context: ToolContext) -> ToolResult:
        service = self._service
        try:
            answer = await self._web.fetch(service.request(arguments.query, arguments.limit))
            found = _read(service, answer)[: arguments.limit]
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, service.name))
        told = {"found": [_told(hit) for hit in found]}
        source = f"web_search:{self._web.place_of(answer.url).host}"
        return ToolResult.done(read(told, self.reads, source))


def _read(service: SearchService, answer: WebAnswer) -> list[Hit]:
    if answer.status != _SUCCESS:
        reason = service.refusals.get(answer.status, f"answered with status {answer.status}")
        raise NetworkError(f"{service.name} {reason}")
    try:
        hits = service.read(answer.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise NetworkError(f"{service.name} gave an invalid answer") from err
    return [hit for hit in hits if hit.url.startswith(("http://", "https://"))]


def _told(hit: Hit) -> dict[str, str]:
    return {
        "title": _plain(hit.title, MAX_TITLE_CHARS),
        "url": seen(hit.url)[:MAX_LINK_CHARS],
        "text": _plain(hit.snippet, MAX_SNIPPET_CHARS),
    }


def _plain(text: str, limit: int) -> str:
    """Return one line without markup."""
    return " ".join(seen(html.unescape(_MARKUP.sub("", text))).split())[:limit]
