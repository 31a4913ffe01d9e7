"""What answers requests: who comes and how, method and path, who sends it, and only then the body.

Every answer ends its connection, so that nobody keeps one, and what is not read is not waited for.
No request changes the configuration, or anything else but an inbox and the list of tokens.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agent.channels.pushed import Answered, Challenged, Push, Pushed
from agent.errors import StorageFull
from agent.gateway import callers
from agent.gateway.limiter import Limiter
from agent.gateway.manners import MAX_BODY_BYTES, fault_of
from agent.gateway.metrics import CONTENT_TYPE, Sample, page
from agent.gateway.tokens import Tokens

# A platform sends a body at once; who takes longer holds a connection
BODY_TIMEOUT_S = 5.0
# Of all bodies that are being read: a crowd of callers takes no more memory than this
MAX_HELD_BYTES = 2 * MAX_BODY_BYTES
MAX_CODE_BODY_BYTES = 200
# Whoever finds no room comes again
AGAIN_S = 2
_BEARER = "bearer "


class _Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(max_length=40)]


@dataclass(frozen=True, slots=True)
class Entrance:
    """Who is let as far as to ask something.

    Args:
        hosts: what the Host header may name.
        trusted: normal names of proxies.
        socket_peer: who comes by a connection without an address.
    """

    hosts: frozenset[str]
    trusted: frozenset[str]
    limiter: Limiter
    tokens: Tokens
    socket_peer: str = callers.UNKNOWN


@dataclass(frozen=True, slots=True)
class Shown:
    """What can be looked at: `troubles` has a sentence for each thing that is not well."""

    troubles: Callable[[], Mapping[str, str]]
    samples: Callable[[], Awaitable[Iterable[Sample]]]


class _Refused(Exception):
    """Ends a request with an answer."""

    def __init__(self, answered: Answered) -> None:
        super().__init__(answered.text)
        self.answered = answered


Handler = Callable[[Request], Awaitable[Response]]


class Front:
    """The application that the server runs."""

    def __init__(self, entrance: Entrance, shown: Shown, pushed: Sequence[Pushed]) -> None:
        self._entrance = entrance
        self._shown = shown
        self._held_bytes = 0
        self._routes: dict[bytes, tuple[str, Handler]] = {
            b"/health": ("GET", self._health),
            b"/metrics": ("GET", self._metrics),
            b"/pair": ("POST", self._pair),
        }
        # Asked with a query by a GET, at paths that are posted to as well
        self._asked: dict[bytes, Challenged] = {}
        for one in pushed:
            self._routes[one.path.encode()] = ("POST", _handler(self, one))
            if isinstance(one, Challenged):
                self._asked[one.path.encode()] = one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except _Refused as refused:
            response = _response(refused.answered)
        response.headers["connection"] = "close"
        response.headers["cache-control"] = "no-store"
        response.headers["x-content-type-options"] = "nosniff"
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        scope, entrance = request.scope, self._entrance
        headers: callers.Headers = scope["headers"]
        who = callers.caller(self._peer(scope), headers, entrance.trusted)
        if who is None:
            raise _Refused(Answered(403, "gateway.trusted_proxies does not name this proxy"))
        if wait_s := entrance.limiter.wait_s(who):
            raise _Refused(Answered(429, "refused too often", math.ceil(wait_s)))
        handler, query = self._routed(scope)
        if fault := fault_of(headers, query, entrance.hosts):
            raise _Refused(Answered(fault.status, fault.text))
        try:
            return await handler(request)
        except _Refused as refused:
            if refused.answered.is_forged:
                entrance.limiter.note(who)
            raise

    def _peer(self, scope: Scope) -> str:
        client = scope.get("client")
        return callers.normal(client[0]) if client else self._entrance.socket_peer

    def _routed(self, scope: Scope) -> tuple[Handler, bytes]:
        """Who answers, and what of the query nobody has asked for."""
        if scope["method"] == "GET" and scope["raw_path"] in self._asked:
            return self._challenged, b""
        method, handler = self._routes.get(scope["raw_path"], ("", None))
        if handler is None:
            raise _Refused(Answered(404, "there is nothing here"))
        if scope["method"] != method:
            raise _Refused(Answered(405, f"only {method} is answered here"))
        return handler, scope["query_string"]

    async def _challenged(self, request: Request) -> Response:
        scope = request.scope
        answered = self._asked[scope["raw_path"]].challenge(scope["query_string"])
        if answered.is_forged:
            raise _Refused(answered)
        return PlainTextResponse(answered.text, answered.status)

    async def _health(self, request: Request) -> Response:
        self._look_at_token(request)
        troubles = self._shown.troubles()
        told = {"status": "trouble" if troubles else "ok", "troubles": dict(troubles)}
        return JSONResponse(told, 503 if troubles else 200)

    async def _metrics(self, request: Request) -> Response:
        self._look_at_token(request)
        try:
            samples = await self._shown.samples()
        except StorageFull as err:
            raise _Refused(Answered(503, "the numbers cannot be read", AGAIN_S)) from err
        return Response(page(samples), media_type=CONTENT_TYPE)

    def _look_at_token(self, request: Request) -> None:
        """A wrong one is refused also where none is needed."""
        told = request.headers.get("authorization")
        if told is None and not self._entrance.tokens.is_needed:
            return
        token = (told or "")[len(_BEARER) :].strip()
        is_bearer = (told or "").lower().startswith(_BEARER)
        if not is_bearer or not self._entrance.tokens.is_right(token):
            raise _Refused(Answered(401, "a token is needed: Authorization: Bearer TOKEN"))

    async def _pair(self, request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await self._body(request, MAX_CODE_BODY_BYTES), type=_Code)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            raise _Refused(Answered(400, 'give the code as {"code": "..."}')) from err
        try:
            token = await self._entrance.tokens.for_code(wanted.code)
        except StorageFull as err:
            raise _Refused(Answered(503, "there is no room to keep it", AGAIN_S)) from err
        if token is None:
            raise _Refused(Answered(403, "no code for a token, or too many wrong ones of late"))
        return JSONResponse({"token": token})

    async def take(self, request: Request, pushed: Pushed) -> Response:
        """What a platform posts: its headers first, then its body."""
        headers = {name.lower(): text for name, text in request.headers.items()}
        if refusal := pushed.refusal(headers):
            raise _Refused(refusal)
        answered = await pushed.push(Push(headers, await self._body(request, MAX_BODY_BYTES)))
        if answered.is_forged:
            raise _Refused(answered)
        return _response(answered)

    async def _body(self, request: Request, most_bytes: int) -> bytes:
        kept = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                async for piece in request.stream():
                    self._held_bytes += len(piece)
                    kept += piece
                    self._refuse_more(len(kept), most_bytes)
        except TimeoutError as err:
            raise _Refused(Answered(408, "the body took too long")) from err
        except ClientDisconnect as err:
            raise _Refused(Answered(400, "the body was cut off")) from err
        finally:
            self._held_bytes -= len(kept)
        return bytes(kept)

    def _refuse_more(self, size_bytes: int, most_bytes: int) -> None:
        if size_bytes > most_bytes:
            raise _Refused(Answered(413, "the body is too long"))
        if self._held_bytes > MAX_HELD_BYTES:
            raise _Refused(Answered(503, "too many at once", AGAIN_S))


def _handler(front: Front, pushed: Pushed) -> Handler:
    async def handle(request: Request) -> Response:
        return await front.take(request, pushed)

    return handle


def _response(answered: Answered) -> Response:
    if answered.is_bare:
        return PlainTextResponse(answered.text, answered.status)
    is_well = answered.status < 300  # noqa: PLR2004 - where HTTP begins to say no
    response = JSONResponse({"told" if is_well else "error": answered.text}, answered.status)
    if answered.retry_after_s is not None:
        response.headers["retry-after"] = str(answered.retry_after_s)
    if answered.status == 401:  # noqa: PLR2004 - Unauthorized
        response.headers["www-authenticate"] = "Bearer"
    return response
