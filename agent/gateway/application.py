"""Application of the gateway: checks the caller, the route and the sender, then reads the body.

Every answer ends its connection, so that nobody keeps one, and what is not read is not waited for.
No request changes the configuration; whatever else one changes passes the gate or the inbox.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agent.channels.push import ChallengedReceiver, PushAnswer, PushReceiver, PushRequest
from agent.errors import StorageFull
from agent.gateway import callers
from agent.gateway.callers import Caller
from agent.gateway.metrics import CONTENT_TYPE, MetricSample, page
from agent.gateway.refused_callers import RefusalLimiter
from agent.gateway.request import MAX_BODY_BYTES, CrowdedOut, RequestBodies, fault_of
from agent.gateway.route import GatewayRoute, RouteRequest
from agent.gateway.tokens import GatewayTokens

MAX_CODE_BODY_BYTES = 200
# Whoever finds no room comes again
AGAIN_S = 2
# Nobody reads the numbers more often, and a crowd costs one count
PAGE_KEPT_S = 1.0
_BEARER = "bearer "


class _Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(max_length=40)]


class CallerAccess(Struct, frozen=True):
    """Access rules for callers.

    Args:
        hosts: what the Host header may name.
        trusted: exact addresses of proxies.
        socket_peer: who comes by a connection without an address.
    """

    hosts: frozenset[str]
    trusted: frozenset[str]
    limiter: RefusalLimiter
    tokens: GatewayTokens
    socket_peer: str = callers.UNKNOWN


class StatusSources(Struct, frozen=True):
    """Data for the status pages; `troubles` has a sentence for each problem."""

    troubles: Callable[[], Mapping[str, str]]
    samples: Callable[[], Awaitable[Iterable[MetricSample]]]


class _Refused(Exception):
    """Request ended with an answer."""

    def __init__(self, answered: PushAnswer) -> None:
        super().__init__(answered.text)
        self.answered = answered


Handler = Callable[[Request, Caller], Awaitable[Response]]


class GatewayApplication:
    """ASGI application of the gateway."""

    def __init__(
        self,
        entrance: CallerAccess,
        shown: StatusSources,
        pushed: Sequence[PushReceiver],
        routes: Sequence[GatewayRoute] = (),
    ) -> None:
        self._entrance = entrance
        self._shown = shown
        self._bodies = RequestBodies()
        self._counting = asyncio.Lock()
        self._page = b""
        self._counted_s = -PAGE_KEPT_S
        self._routes: dict[bytes, tuple[str, Handler]] = {
            b"/health": ("GET", self._health),
            b"/metrics": ("GET", self._metrics),
            b"/pair": ("POST", self._pair),
        }
        # Asked with a query by a GET, at paths that are posted to as well
        self._asked: dict[bytes, ChallengedReceiver] = {}
        for one in pushed:
            self._routes[one.path.encode()] = ("POST", _handler(self, one))
            if isinstance(one, ChallengedReceiver):
                self._asked[one.path.encode()] = one
        # Those of other protocols, which have refusals of their own
        self._lent = {route.path.encode(): route for route in routes}
        for path, route in self._lent.items():
            self._routes[path] = (route.method, _lent(self, route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except _Refused as refused:
            lent = self._lent.get(scope["raw_path"])
            shape = _response if lent is None else lent.refusal
            response = shape(refused.answered)
        response.headers["connection"] = "close"
        response.headers["cache-control"] = "no-store"
        response.headers["x-content-type-options"] = "nosniff"
        await response(scope, receive, send)

    @property
    def socket_peer(self) -> str:
        """Return the name of callers without an address."""
        return self._entrance.socket_peer

    def recognised(self, peer: str, headers: callers.Headers) -> Caller:
        """Return the caller; without a trusted proxy it is the connection's exact address."""
        who = callers.caller(peer, headers, self._entrance.trusted)
        return Caller(who or callers.normal(peer), self._is_known(_token_of(headers)))

    def answer_s(self, path: bytes) -> float:
        """Return the longest time that an answer there may take; 0 for the usual one."""
        lent = self._lent.get(path)
        return 0.0 if lent is None else lent.answer_s

    async def lend(self, request: Request, route: GatewayRoute) -> Response:
        """Hand a paired caller to a protocol."""
        token = _token_of(request.scope["headers"])
        if not self._is_known(token):
            raise _Refused(PushAnswer(401, "a token is needed: Authorization: Bearer TOKEN"))
        holder = self._entrance.tokens.holder(token)
        if holder is None:
            told = PushAnswer(403, "this token is no person's: pair one with `barnacle pair`")
            return route.refusal(told)
        headers = {name.lower(): text for name, text in request.headers.items()}
        read = partial(self._body, request, MAX_BODY_BYTES)
        person, account = holder
        return await route.handle(
            RouteRequest(person, account, headers, read, partial(_left, request))
        )

    def _is_known(self, token: str) -> bool:
        return bool(token) and self._entrance.tokens.is_right(token)

    async def _answer(self, request: Request) -> Response:
        scope, entrance = request.scope, self._entrance
        headers: callers.Headers = scope["headers"]
        who = callers.caller(self._peer(scope), headers, entrance.trusted)
        if who is None:
            raise _Refused(PushAnswer(403, "gateway.trusted_proxies does not name this proxy"))
        token = _token_of(headers)
        # A right token passes: what others of the same address have guessed keeps nobody out
        is_known = self._is_known(token)
        if not is_known and (wait_s := entrance.limiter.wait_s(who, token)):
            raise _Refused(PushAnswer(429, "refused too often", math.ceil(wait_s)))
        handler, query = self._routed(scope)
        if fault := fault_of(headers, query, entrance.hosts):
            raise _Refused(PushAnswer(fault.status, fault.text))
        try:
            return await handler(request, Caller(who, is_known))
        except _Refused as refused:
            if refused.answered.is_forged:
                entrance.limiter.note(who, token)
            raise

    def _peer(self, scope: Scope) -> str:
        client = scope.get("client")
        return callers.exact(client[0]) if client else self._entrance.socket_peer

    def _routed(self, scope: Scope) -> tuple[Handler, bytes]:
        """Return the route, and the parts of the query that it does not use."""
        if scope["method"] == "GET" and scope["raw_path"] in self._asked:
            return self._challenged, b""
        method, handler = self._routes.get(scope["raw_path"], ("", None))
        if handler is None:
            raise _Refused(PushAnswer(404, "there is nothing here"))
        if scope["method"] != method:
            raise _Refused(PushAnswer(405, f"only {method} is answered here"))
        return handler, scope["query_string"]

    async def _challenged(self, request: Request, caller: Caller) -> Response:
        scope = request.scope
        answered = self._asked[scope["raw_path"]].challenge(scope["query_string"])
        if answered.is_forged:
            raise _Refused(answered)
        return PlainTextResponse(answered.text, answered.status)

    async def _health(self, request: Request, caller: Caller) -> Response:
        self._look_at_token(request, caller)
        troubles = self._shown.troubles()
        told = {"status": "trouble" if troubles else "ok", "troubles": dict(troubles)}
        return JSONResponse(told, 503 if troubles else 200)

    async def _metrics(self, request: Request, caller: Caller) -> Response:
        self._look_at_token(request, caller)
        loop = asyncio.get_running_loop()
        async with self._counting:
            if loop.time() >= self._counted_s + PAGE_KEPT_S:
                try:
                    self._page = page(await self._shown.samples()).encode()
                except StorageFull as err:
                    raise _Refused(PushAnswer(503, "the numbers cannot be read", AGAIN_S)) from err
                self._counted_s = loop.time()
        return Response(self._page, media_type=CONTENT_TYPE)

    def _look_at_token(self, request: Request, caller: Caller) -> None:
        """Refuse a wrong token, even where none is needed."""
        is_told = "authorization" in request.headers
        if not caller.is_known and (is_told or self._entrance.tokens.is_needed):
            raise _Refused(PushAnswer(401, "a token is needed: Authorization: Bearer TOKEN"))

    async def _pair(self, request: Request, caller: Caller) -> Response:
        try:
            wanted = msgspec.json.decode(await self._body(request, MAX_CODE_BODY_BYTES), type=_Code)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            raise _Refused(PushAnswer(400, 'give the code as {"code": "..."}')) from err
        tokens = self._entrance.tokens
        if wait_s := tokens.wait_s(caller.who):
            raise _Refused(PushAnswer(429, "too many wrong codes of late", math.ceil(wait_s)))
        try:
            token = await tokens.for_code(wanted.code, caller.who)
        except StorageFull as err:
            raise _Refused(PushAnswer(503, "there is no room to keep it", AGAIN_S)) from err
        if token is None:
            raise _Refused(
                PushAnswer(403, "this is no code for a token, or it was used, or it is too old")
            )
        return JSONResponse({"token": token})

    async def take(self, request: Request, pushed: PushReceiver) -> Response:
        """Accept a platform's post: its headers first, then its body."""
        headers = {name.lower(): text for name, text in request.headers.items()}
        if refusal := pushed.refusal(headers):
            raise _Refused(refusal)
        answered = await pushed.push(
            PushRequest(headers, await self._body(request, MAX_BODY_BYTES))
        )
        if answered.is_forged:
            raise _Refused(answered)
        return _response(answered)

    async def _body(self, request: Request, most_bytes: int) -> bytes:
        with self._bodies.reading() as body:
            try:
                async with body.deadline:
                    async for piece in request.stream():
                        if len(body.held) + len(piece) > most_bytes:
                            raise _Refused(PushAnswer(413, "the body is too long"))
                        body.add(piece)
            except (TimeoutError, CrowdedOut) as err:
                if body.is_out:
                    raise _Refused(PushAnswer(503, "too many at once", AGAIN_S)) from err
                raise _Refused(PushAnswer(408, "the body took too long")) from err
            except ClientDisconnect as err:
                raise _Refused(PushAnswer(400, "the body was cut off")) from err
            return bytes(body.held)


def _handler(front: GatewayApplication, pushed: PushReceiver) -> Handler:
    async def handle(request: Request, _: Caller) -> Response:
        return await front.take(request, pushed)

    return handle


def _lent(front: GatewayApplication, route: GatewayRoute) -> Handler:
    async def handle(request: Request, _: Caller) -> Response:
        return await front.lend(request, route)

    return handle


async def _left(request: Request) -> None:
    """Return when the caller has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _token_of(headers: callers.Headers) -> str:
    """Return the token of the first header with one; empty if there is none."""
    told = dict(reversed(headers)).get(b"authorization", b"").decode("latin-1")
    return told[len(_BEARER) :].strip() if told.lower().startswith(_BEARER) else ""


def _response(answered: PushAnswer) -> Response:
    if answered.is_bare:
        return PlainTextResponse(answered.text, answered.status)
    is_well = answered.status < 300  # noqa: PLR2004 - where HTTP begins to say no
    response = JSONResponse({"told" if is_well else "error": answered.text}, answered.status)
    if answered.retry_after_s is not None:
        response.headers["retry-after"] = str(answered.retry_after_s)
    if answered.status == 401:  # noqa: PLR2004 - Unauthorized
        response.headers["www-authenticate"] = "Bearer"
    return response
