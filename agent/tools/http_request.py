"""Tool that sends a request to a web service and returns the raw answer.

What it sends stays out of every log. What comes back is trusted as little as any page.
"""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.errors import BadArguments, BarnacleError
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own, read
from agent.security.act import Pattern
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Tool, ToolContext
from agent.tools.web import MAX_BODY_BYTES, Web, WebRequest, seen
from agent.tools.web_fetch import UrlArguments, is_text, refuse_unreachable

MAX_SENT_BYTES = 64 * 1024
MAX_HEADERS = 20
MAX_HEADER_CHARS = 4096
# Some six thousand tokens
MAX_SHOWN_CHARS = 20_000
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[ -~]*")
# They say where the request goes and where it ends: that is not the model's to say
_OURS = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("upgrade", "trailer", "expect", "accept-encoding", "proxy-authorization", "via"),
        *("proxy-connection", "forwarded", "x-forwarded-for", "x-forwarded-host", "http2-settings"),
        # Frameworks take them for the method and the path that a rule of the owner has compared
        *("x-http-method-override", "x-http-method", "x-method-override"),
        *("x-original-url", "x-rewrite-url"),
    }
)


class RequestArguments(UrlArguments, frozen=True):
    """A request: method, URL, headers and body."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    headers: Annotated[dict[str, str], Meta(max_length=MAX_HEADERS)] = msgspec.field(
        default_factory=dict
    )
    body: Annotated[str, Meta(max_length=MAX_SENT_BYTES)] = ""


class HttpRequestTool(Tool[RequestArguments]):
    """Sends a request."""

    reads = Provenance.WEB
    name = "http_request"
    description = own("Send a request to a web service and get its answer as it is.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = RequestArguments

    def __init__(self, web: Web) -> None:
        self._web = web

    def parse(self, arguments_json: str) -> RequestArguments:
        """Parse the arguments and refuse a forbidden request before anybody is asked."""
        arguments = super().parse(arguments_json)
        refuse_unreachable(self._web, arguments.url)
        for name, value in arguments.headers.items():
            if complaint := _complaint(name.lower(), value):
                raise BadArguments(f"headers: {complaint}")
        if len(arguments.body.encode(errors="replace")) > MAX_SENT_BYTES:
            raise BadArguments(f"the body is longer than {MAX_SENT_BYTES} bytes")
        return arguments

    def always_for(self, arguments: RequestArguments) -> Pattern:
        """Cover requests with the same host and method; path and body stay free."""
        origin = self._web.place_of(arguments.url).origin
        fixed = {"origin": origin, "method": arguments.method}
        return Pattern(fixed, f"{arguments.method} requests to {origin}, any path and body")

    async def execute(self, arguments: RequestArguments, context: ToolContext) -> ToolResult:
        headers = {name.lower(): value for name, value in arguments.headers.items()}
        content = arguments.body.encode(errors="replace")
        request = WebRequest(arguments.method, arguments.url, headers, content)
        try:
            answer = await self._web.fetch(request, follow=context.follows_redirects)
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, arguments.url))
        told: dict[str, object] = {"status": answer.status, "url": answer.url}
        if answer.location:
            told["location"] = seen(answer.location)[:1000]
        if is_text(answer) and b"\0" not in answer.body:
            text = answer.text
            told["body"] = text[:MAX_SHOWN_CHARS]
            told["more"] = len(text) > MAX_SHOWN_CHARS or answer.is_cut
        else:
            size = f"more than {MAX_BODY_BYTES}" if answer.is_cut else str(len(answer.body))
            told["left_out"] = f"{size} bytes of {seen(answer.media_type)[:60]}, not text"
        return ToolResult.done(read(told, self.reads, answer.url))


def _complaint(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        return "a header name has an invalid character"
    # Many programs are told of both signs as one
    if name.replace("_", "-") in _OURS:
        return f"{name} cannot be set"
    if not _VALUE.fullmatch(value) or len(value) > MAX_HEADER_CHARS:
        return f"the value of {name} must be one line of plain characters"
    return ""
