"""Endpoint of the protocol: streamable HTTP, of whose sessions nothing but their name is known.

A call of a tool, and a resource that a tool reads, are answered by a stream that shows it is alive,
as the owner may be asked meanwhile; everything else at once.
"""

from starlette.responses import JSONResponse, Response, StreamingResponse

from agent.channels.push import PushAnswer
from agent.errors import BarnacleError
from agent.gateway.assistants.desk import ANSWER_S, MAX_OPEN_OF_ONE
from agent.gateway.assistants.mcp.calls import CANCELLED, CallsAtWork, answered
from agent.gateway.assistants.mcp.elicitation import SESSION, Elicitations
from agent.gateway.assistants.mcp.methods import VERSIONS, McpMethods
from agent.gateway.assistants.mcp.stream import CallStream
from agent.gateway.assistants.mcp.wire import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    RpcAnswer,
    RpcMessage,
    RpcRefused,
    read,
    read_batch,
)
from agent.gateway.route import RouteRequest

PATH = "/mcp"
_VERSION = "mcp-protocol-version"
_STREAM = "text/event-stream"
# The one version of which a server has to take several messages at once; with it came no header
_BATCHED = "2025-03-26"
# The owner may be asked meanwhile
_LONG = frozenset({"tools/call", "resources/read"})


class McpEndpoint:
    """Endpoint for paired callers."""

    method = "POST"
    path = PATH
    answer_s = ANSWER_S

    def __init__(self, methods: McpMethods, elicitations: Elicitations) -> None:
        self._methods = methods
        self._elicitations = elicitations
        self._calls = CallsAtWork()

    def refusal(self, answered: PushAnswer) -> Response:
        made = JSONResponse(_failure(answered.text), answered.status)
        if answered.retry_after_s is not None:
            made.headers["retry-after"] = str(answered.retry_after_s)
        if answered.status == 401:  # noqa: PLR2004 - Unauthorized
            made.headers["www-authenticate"] = "Bearer"
        return made

    async def handle(self, request: RouteRequest) -> Response:
        body = await request.read()
        if body.lstrip()[:1] == b"[" and request.headers.get(_VERSION, _BATCHED) == _BATCHED:
            return await self._batch(request, body)
        try:
            message = read(body)
        except RpcRefused as err:
            return _json(RpcAnswer(None, error=err), 400)
        if not message.is_request:
            self._heard(request, message)
            return Response(status_code=202)
        version = request.headers.get(_VERSION, VERSIONS[-1])
        if version not in VERSIONS and message.method != "initialize":
            told = f"this version is not spoken here; known: {', '.join(VERSIONS)}"
            refused = RpcRefused(INVALID_REQUEST, told)
            return _json(RpcAnswer(message.id, error=refused), 400)
        return await self._answered(request, message, body)

    async def _answered(self, request: RouteRequest, message: RpcMessage, body: bytes) -> Response:
        if message.method not in _LONG:
            made = _json(await self._answer(request, message, body))
            if message.method == "initialize":
                session = self._elicitations.session_for(request, message.params or {})
                made.headers[SESSION] = session
            return made
        if refused := self._calls.refusal(request.sender):
            return _json(RpcAnswer(message.id, error=refused), 429)
        if _STREAM not in request.headers.get("accept", ""):
            task = self._calls.begin(request, message, self._answer(request, message, body))
            told = await answered(task)
            return Response(status_code=202) if told is None else _json(told)
        stream = CallStream(message.params or {})
        with stream.shown():
            task = self._calls.begin(request, message, self._answer(request, message, body))
        return StreamingResponse(stream.events(task), media_type=_STREAM)

    async def _batch(self, request: RouteRequest, body: bytes) -> Response:
        """Answer messages that came together, one after the other: an act may follow an act."""
        try:
            messages = read_batch(body, MAX_OPEN_OF_ONE)
        except RpcRefused as err:
            return _json(RpcAnswer(None, error=err), 400)
        answers = [await self._one_of_batch(request, one) for one in messages]
        told = [one.encoded() for one in answers if one is not None]
        if not told:
            return Response(status_code=202)
        return Response(b"[" + b",".join(told) + b"]", media_type="application/json")

    async def _one_of_batch(self, request: RouteRequest, body: bytes) -> RpcAnswer | None:
        try:
            message = read(body)
        except RpcRefused as err:
            return RpcAnswer(None, error=err)
        if not message.is_request:
            self._heard(request, message)
            return None
        if message.method == "initialize":
            refused = RpcRefused(INVALID_REQUEST, "initialize comes alone")
            return RpcAnswer(message.id, error=refused)
        if message.method not in _LONG:
            return await self._answer(request, message, body)
        if many := self._calls.refusal(request.sender):
            return RpcAnswer(message.id, error=many)
        work = self._answer(request, message, body)
        return await answered(self._calls.begin(request, message, work))

    def _heard(self, request: RouteRequest, message: RpcMessage) -> None:
        """Take what wants no answer; of the notifications one alone changes something here."""
        if message.is_answer:
            self._elicitations.heard(request.sender, message)
        elif message.method == CANCELLED:
            self._calls.take_back(request, message)

    async def _answer(self, request: RouteRequest, message: RpcMessage, body: bytes) -> RpcAnswer:
        try:
            return RpcAnswer(message.id, await self._methods.answer(request, message, body))
        except RpcRefused as err:
            return RpcAnswer(message.id, error=err)
        except BarnacleError as err:
            return RpcAnswer(message.id, error=RpcRefused(INTERNAL_ERROR, str(err)))


def _json(answer: RpcAnswer, status: int = 200) -> Response:
    return Response(answer.encoded(), status, media_type="application/json")


def _failure(text: str) -> dict[str, object]:
    error = {"code": INVALID_REQUEST, "message": text}
    return {"jsonrpc": "2.0", "id": None, "error": error}
