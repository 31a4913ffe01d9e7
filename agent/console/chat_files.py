"""Files of a chat: sent by a script, piece by piece; shown or downloaded, and never run here.

Nothing holds a file whole: what a browser sends goes on to the agent as it comes, and back.
"""

import asyncio
import contextlib
import hmac
from collections.abc import AsyncGenerator
from urllib.parse import quote

from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from agent.console.agent_client import AgentClient, NotForVisitor
from agent.console.guards import MAX_FILE_BYTES
from agent.console.request import BadForm, Visit, form_token

# With one message, as the agent takes them
MAX_FILES = 10
# A telephone far from the router; what says nothing for so long is gone
_SILENT_S = 20.0
_WHOLE_S = 600.0
# Files that are on their way at once, of all browsers: each holds a connection to the agent
_MOST_AT_ONCE = 4
_TOKEN = b"x-barnacle-token"
# Pictures that no browser runs anything of; everything else is only ever downloaded
_SHOWN = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_PLAIN = "application/octet-stream"
# Even a picture that is none is nothing but data, without an origin of its own
_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
_MOST_CHARS = 100
# The page is drawn anew with every answer; the pictures of it are not sent again each time
_AGE_S = 600


class ChatFiles:
    """Handlers of files."""

    def __init__(self, client: AgentClient) -> None:
        self._client = client
        self._on_their_way = 0

    async def take(self, visit: Visit) -> Response:
        """Give a file to the agent; answer with its name for the message."""
        token = visit.head.one(_TOKEN) or ""
        expected = form_token(visit.session)
        if not visit.session or not hmac.compare_digest(token.encode(), expected.encode()):
            raise BadForm(403)
        if self._on_their_way >= _MOST_AT_ONCE:
            raise BadForm(429)
        query = visit.query()
        name, kind = query.get("name", "")[:_MOST_CHARS], query.get("type", "")[:_MOST_CHARS]
        self._on_their_way += 1
        try:
            async with asyncio.timeout(_WHOLE_S):
                number = await self._client.upload(visit.session, name, kind, _pieces(visit))
        except NotForVisitor as err:
            return Response(str(err), 422, media_type="text/plain; charset=utf-8")
        except TimeoutError as err:
            raise BadForm(408) from err
        finally:
            self._on_their_way -= 1
        return Response(number, media_type="text/plain")

    async def give(self, visit: Visit) -> Response:
        """Send a file of the visitor's conversation."""
        ref = visit.query().get("of", "")[:_MOST_CHARS]
        try:
            found, pieces = await self._client.fetch(visit.session, ref)
        except NotForVisitor:
            return Response(visit.wording("chat.gone_file"), 404, media_type="text/plain")
        is_shown = is_picture(found.media_type)

        async def body() -> AsyncGenerator[bytes, None]:
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    yield piece

        response = StreamingResponse(body(), media_type=found.media_type if is_shown else _PLAIN)
        kind = "inline" if is_shown else "attachment"
        response.headers["content-disposition"] = f"{kind}; filename*=UTF-8''{quote(found.name)}"
        response.headers["content-security-policy"] = _POLICY
        response.headers["cache-control"] = f"private, max-age={_AGE_S}"
        return response


def is_picture(media_type: str) -> bool:
    """Return true for a picture that a page may show."""
    return media_type in _SHOWN


async def _pieces(visit: Visit) -> AsyncGenerator[bytes, None]:
    """Yield what the browser sends, up to the limit, as long as it sends."""
    stream, size = aiter(visit.request.stream()), 0
    while True:
        try:
            async with asyncio.timeout(_SILENT_S):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except ClientDisconnect as err:
            raise BadForm(400) from err
        except TimeoutError as err:
            raise BadForm(408) from err
        size += len(piece)
        if size > MAX_FILE_BYTES:
            raise BadForm(413)
        if piece:
            yield piece
