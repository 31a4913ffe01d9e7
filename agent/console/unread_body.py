"""Rest of a body that nobody reads any more: thrown away before the answer begins.

An answer before the end of a body is lost with the connection: a browser that still sends is told
that the connection broke, and not why it was refused.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from agent.console.guards import MAX_FILE_BYTES

if TYPE_CHECKING:
    from uvicorn._types import (
        ASGI3Application,
        ASGIReceiveCallable,
        ASGIReceiveEvent,
        ASGISendCallable,
        ASGISendEvent,
        Scope,
    )

# What says nothing for so long is not waited for
REST_SILENT_S = 8.0
# The largest file at one megabit a second
_REST_WHOLE_S = 180.0
_TOO_SLOW = 408


def after_the_body(application: "ASGI3Application") -> "ASGI3Application":
    """Wrap the application so that its answers begin when the body has come."""

    async def run(scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await application(scope, receive, send)
            return
        body = _Body(receive)

        async def send_after(message: "ASGISendEvent") -> None:
            if message["type"] == "http.response.start" and message["status"] != _TOO_SLOW:
                await body.skip()
            await send(message)

        await application(scope, body.receive, send_after)

    return run


class _Body:
    """Body of a request, which knows whether it has come to its end."""

    def __init__(self, receive: "ASGIReceiveCallable") -> None:
        self._receive = receive
        self._is_over = False

    async def receive(self) -> "ASGIReceiveEvent":
        message = await self._receive()
        # Who has left sends no more
        self._is_over = message["type"] != "http.request" or not message["more_body"]
        return message

    async def skip(self) -> None:
        """Throw away what still comes, as much as may be sent at all."""
        skipped = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REST_WHOLE_S):
                while not self._is_over and skipped <= MAX_FILE_BYTES:
                    async with asyncio.timeout(REST_SILENT_S):
                        message = await self.receive()
                    skipped += len(message["body"]) if message["type"] == "http.request" else 0
