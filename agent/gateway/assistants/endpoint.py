"""Endpoints in OpenAI's shape: completions, responses and the list of models."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from msgspec import Struct
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from agent.access.roles import PersonRole
from agent.channels.push import PushAnswer
from agent.gateway.assistants import completions, models, refusals, responses
from agent.gateway.assistants.asked import Asked
from agent.gateway.assistants.desk import ANSWER_S, AssistantDesk, OpenRequest
from agent.gateway.assistants.pending import AnswerPieces
from agent.gateway.assistants.refusals import RequestRefused
from agent.gateway.route import GatewayRoute, RouteRequest

# A comment of the stream: proxies and clients see that it is alive
_ALIVE = b": still at work\n\n"
# A list needs no turn
_LIST_S = 30.0
# Nobody reads it: the caller has left
_LEFT = 499


class AnswerForm(Protocol):
    """Shape of an answer, in one piece or as events."""

    def whole(self, text: str) -> dict[str, object]:
        """Return the answer in one piece."""

    def begun(self) -> bytes:
        """Return the beginning of a stream."""

    def grown(self, text: str) -> bytes:
        """Return one more piece."""

    def ended(self, text: str) -> bytes:
        """Return the end of a stream in which all of the text was told."""

    def failed(self, body: dict[str, object]) -> bytes:
        """Return the end of a stream to which no answer came."""


class Protocols(Struct, frozen=True):
    """Reader and shape of one protocol."""

    read: Callable[[bytes], Asked]
    form: Callable[[OpenRequest, int], AnswerForm]


class HeldStream(StreamingResponse):
    """Stream that ends what it holds, even if it never begins."""

    def __init__(self, pieces: AsyncIterator[bytes], held: contextlib.AsyncExitStack) -> None:
        super().__init__(pieces, media_type="text/event-stream")
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)


class AnswerEndpoint:
    """Endpoint that answers one request by one turn."""

    method = "POST"
    answer_s = ANSWER_S

    def __init__(self, path: str, desk: AssistantDesk, protocol: Protocols) -> None:
        self.path = path
        self._desk = desk
        self._protocol = protocol

    def refusal(self, answered: PushAnswer) -> Response:
        return refusals.refused(answered)

    async def handle(self, request: RouteRequest) -> Response:
        try:
            body = await request.read()
            asked = self._protocol.read(body)
            async with contextlib.AsyncExitStack() as held:
                opened = await held.enter_async_context(self._desk.opened(asked, request, body))
                form = self._protocol.form(opened, self._desk.now_s)
                if asked.is_streamed:
                    return HeldStream(self._stream(opened, form), held.pop_all())
                return await self._in_one(opened, form, request)
        except RequestRefused as err:
            return err.response()

    async def _in_one(
        self, opened: OpenRequest, form: AnswerForm, request: RouteRequest
    ) -> Response:
        """Answer, unless the caller leaves; the turn goes on, and its answer is kept."""
        answering = asyncio.ensure_future(self._desk.answer(opened))
        leaving = asyncio.ensure_future(request.left())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return Response(status_code=_LEFT)
            return JSONResponse(form.whole(answering.result()))
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.wait({answering, leaving})

    async def _stream(self, opened: OpenRequest, form: AnswerForm) -> AsyncIterator[bytes]:
        pieces = AnswerPieces()
        yield form.begun()
        try:
            async for changed in self._desk.beats(opened):
                if not changed:
                    yield _ALIVE
                elif piece := pieces.next(opened.pending):
                    yield form.grown(piece)
        except RequestRefused as err:
            yield form.failed(err.body)
            return
        if piece := pieces.next(opened.pending):
            yield form.grown(piece)
        yield form.ended(pieces.whole)


class ModelList:
    """List of the caller's models, or one of them."""

    method = "GET"
    answer_s = _LIST_S

    def __init__(self, desk: AssistantDesk, name: str = "") -> None:
        self.path = f"{models.PATH}/{name}" if name else models.PATH
        self._desk = desk
        self._name = name

    def refusal(self, answered: PushAnswer) -> Response:
        return refusals.refused(answered)

    async def handle(self, request: RouteRequest) -> Response:
        rank = request.person.rank
        if not self._name:
            return JSONResponse(models.listed(self._desk.name, rank))
        try:
            models.is_relay(self._name, self._desk.name, rank)
        except RequestRefused as err:
            return err.response()
        return JSONResponse(models.described(self._name))


def endpoints(desk: AssistantDesk) -> tuple[GatewayRoute, ...]:
    """Return the endpoints in OpenAI's shape."""
    ranks = (PersonRole.USER, PersonRole.GUEST)
    names = [name for rank in ranks for name in models.names_for(desk.name, rank)]
    return (
        AnswerEndpoint(completions.PATH, desk, Protocols(completions.read, _completion)),
        AnswerEndpoint(responses.PATH, desk, Protocols(responses.read, _response)),
        ModelList(desk),
        *(ModelList(desk, name) for name in names),
    )


def _completion(opened: OpenRequest, now_s: int) -> AnswerForm:
    return completions.CompletionForm(opened.message.message_id, opened.asked.model, now_s)


def _response(opened: OpenRequest, now_s: int) -> AnswerForm:
    asked = opened.asked
    return responses.ResponseForm(opened.message.message_id, asked.model, now_s, asked.follows)
