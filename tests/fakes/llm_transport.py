"""An HTTP transport without a socket that answers with one body, cut and broken as a test wants."""

from collections.abc import AsyncIterator

import httpx

from tests.fakes.llm_server import Reply


class OneReplyTransport(httpx.AsyncBaseTransport):
    """Gives the same reply to everybody; with `cut_after` the connection breaks there."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._reply
        headers = [("content-type", reply.content_type), *reply.headers]
        return httpx.Response(reply.status, headers=headers, stream=_Body(reply))


class _Body(httpx.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = self._reply.body[: self._reply.cut_after]
        size = self._reply.piece_bytes or len(body) or 1
        for at in range(0, len(body), size):
            yield body[at : at + size]
        if self._reply.cut_after is not None:
            raise httpx.ReadError("connection reset")
