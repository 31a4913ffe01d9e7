"""Tool that reads a web page as text, in parts. Nothing of it is trusted."""

from typing import Annotated

import msgspec
from msgspec import Meta

from agent.errors import AddressRefused, BadArguments, BarnacleError, NetworkError
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, own, read
from agent.security.act import Pattern
from agent.security.sandbox.base import Sandbox
from agent.security.shares import NOTHING_PRIVATE
from agent.security.web_addresses import MAX_URL_CHARS, spelled
from agent.tools import page_program
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.helper_program import output_of
from agent.tools.web import Web, WebAnswer, WebRequest, is_redirect, seen

# Some three thousand tokens at a time
PART_CHARS = 10_000
# Python's own start on the smallest Pi, and the largest page that is taken
READ_TIMEOUT_S = 20.0
_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.1"
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = ("application/json", "application/xml", "application/javascript", "application/x-ndjson")
_SUCCESS = range(200, 300)

Url = Annotated[
    str, Meta(min_length=1, max_length=MAX_URL_CHARS, description="http:// or https://")
]


class UrlArguments(Arguments, frozen=True):
    """Arguments with a URL; the owner's rules see its host in one spelling."""

    url: Url

    def by_name(self) -> dict[str, object]:
        return super().by_name() | {"url": spelled(self.url)}


class FetchArguments(UrlArguments, frozen=True):
    """URL of a page, and the part of its text."""

    part: Annotated[int, Meta(ge=1, le=100)] = 1


class WebFetchTool(Tool[FetchArguments]):
    """Reads a page."""

    reads = Provenance.WEB
    name = "web_fetch"
    description = own("Read a page of the web as text; a long one in parts.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = FetchArguments
    reads_on = True

    def __init__(self, web: Web, sandbox: Sandbox | None = None) -> None:
        self._web = web
        self._sandbox = sandbox

    def parse(self, arguments_json: str) -> FetchArguments:
        """Parse the arguments and refuse a forbidden address before anybody is asked."""
        arguments = super().parse(arguments_json)
        refuse_unreachable(self._web, arguments.url)
        return arguments

    def always_for(self, arguments: FetchArguments) -> Pattern:
        origin = self._web.place_of(arguments.url).origin
        return Pattern({"origin": origin}, f"reading any page of {origin}")

    async def execute(self, arguments: FetchArguments, context: ToolContext) -> ToolResult:
        try:
            request = WebRequest("GET", arguments.url, {"accept": _ACCEPT})
            answer = await self._web.fetch(request, follow=context.follows_redirects)
            if is_redirect(answer):
                return _leading_elsewhere(answer)
            if answer.status not in _SUCCESS:
                raise NetworkError(f"the page answered with status {answer.status}")
            title, text = await _read(answer, self._sandbox)
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, arguments.url))
        begin = (arguments.part - 1) * PART_CHARS
        part = text[begin : begin + PART_CHARS]
        more = len(text) > begin + PART_CHARS or answer.is_cut
        told = {"url": answer.url, "title": title, "text": part, "more": more}
        return ToolResult.done(read(told, self.reads, answer.url))


def _leading_elsewhere(answer: WebAnswer) -> ToolResult:
    """Return the new place; the page's author chose it, so the gate decides."""
    told = {"url": answer.url, "redirects_to": seen(answer.location), "followed": False}
    return ToolResult.done(read(told, Provenance.WEB, answer.url))


def refuse_unreachable(web: Web, url: str) -> None:
    """Raise BadArguments for a forbidden address."""
    try:
        web.place_of(url)
    except AddressRefused as err:
        # Nothing but the argument was looked at
        raise BadArguments(echo(str(err))) from err


def is_text(answer: WebAnswer) -> bool:
    """Return true for readable text; an answer without a media type counts as text."""
    kind = answer.media_type
    return kind.startswith("text/") or kind in {"", *_TEXTS} or kind.endswith(("+json", "+xml"))


async def _read(answer: WebAnswer, sandbox: Sandbox | None) -> tuple[str, str]:
    if answer.media_type in _PAGES:
        page = answer.text.encode()
        program = page_program.__file__
        told = await output_of(program, [answer.url], page, READ_TIMEOUT_S, sandbox)
        title, text = msgspec.json.decode(told, type=tuple[str, str])
        return seen(title), seen(text)
    if not is_text(answer) or b"\0" in answer.body:
        raise NetworkError(f"this is {answer.media_type[:60] or 'no text'}, not text")
    return "", answer.text
