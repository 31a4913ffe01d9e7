"""Client of an ntfy server, and the meaning of its refusals.

The only module that knows addresses; the token is never part of an error.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from agent.channels import rest
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.text.printable import printable_line

# A day's messages are used up: they come back during the day
QUOTA_RETRY_S = 900.0
MAX_NAME_CHARS = 64
# Its own files, whatever name the server thinks that it has
_FILE = re.compile(r"/file/[-_A-Za-z0-9]{1,64}(?:\.[A-Za-z0-9]{1,16})?")
_NOT_OURS = frozenset({401, 403})
# A code of the server beside the status of HTTP: the messages of a day
_QUOTA = 42908


class NtfyApi:
    """Client of one topic."""

    def __init__(self, base_url: str, topic: str, token: Secret, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self.topic = topic
        self._token = token
        self._http = http

    @property
    def url(self) -> str:
        return f"{self._base_url}/{self.topic}"

    @property
    def is_open(self) -> bool:
        """True if anybody who knows the topic may write there, also by a telephone's buttons."""
        return not self._token

    async def publish(self, message: Mapping[str, object]) -> None:
        """Publish; return when the server has the message.

        Raises:
            ChannelError: it has not.
        """
        body = {"topic": self.topic, **message}
        await self._call(rest.json_request("POST", self._base_url, self._headers(), body))

    async def upload(
        self, headers: Mapping[str, str], content: AsyncIterator[bytes], size_bytes: int
    ) -> None:
        """Publish a file; return when the server has it."""
        told = {**self._headers(), **headers, "content-length": str(size_bytes)}
        await self._call(HttpRequest("PUT", self.url, told, content), rest.UPLOAD_TIMEOUT_S)

    async def account(self) -> str:
        """Return our account; empty if we have none."""
        if self._token:
            reply = await self._call(self._get(f"{self._base_url}/v1/account"))
            name = reply.fields.get("username")
            return printable_line(name, MAX_NAME_CHARS) if isinstance(name, str) else ""
        return ""

    async def may_read(self) -> None:
        """Check that we may read; raises the server's refusal."""
        await self._call(self._get(f"{self.url}/auth"))

    @asynccontextmanager
    async def stream(self, since: str) -> AsyncIterator[HttpAnswer]:
        """Yield the stream of messages since then and from now on.

        Raises:
            ChannelError: the server does not let us hear, or is not there.
        """
        after = f"?since={since}" if since else ""
        headers = self._headers()
        request = HttpRequest("GET", f"{self.url}/json{after}", headers, is_held_open=True)
        async with self._exchange(request, rest.CALL_TIMEOUT_S) as answer:
            yield answer

    @asynccontextmanager
    async def file(self, url: str) -> AsyncIterator[HttpAnswer]:
        """Yield the content of a file on this server.

        Raises:
            ChannelUnavailable: it is not to be had.
        """
        request = HttpRequest("GET", f"{self._base_url}{path_of(url)}", self._headers())
        async with self._exchange(request, rest.CALL_TIMEOUT_S) as answer:
            yield answer

    def _get(self, url: str) -> HttpRequest:
        return HttpRequest("GET", url, self._headers())

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token.reveal()}"} if self._token else {}

    async def _call(
        self, request: HttpRequest, timeout_s: float = rest.CALL_TIMEOUT_S
    ) -> rest.RestReply:
        async with self._exchange(request, timeout_s) as answer:
            return await rest.whole(answer)

    @asynccontextmanager
    async def _exchange(self, request: HttpRequest, timeout_s: float) -> AsyncIterator[HttpAnswer]:
        async with rest.answering(self._http, request, timeout_s) as answer:
            if answer.status != rest.OK:
                raise self._trouble(await rest.whole(answer))
            yield answer

    def _trouble(
        self, answer: rest.RestReply
    ) -> ChannelRefused | ChannelUnavailable | MessageRefused:
        reason = rest.reason_in(answer.fields.get("error"))
        said = f"{answer.host} answered {answer.status}{f' ({reason})' if reason else ''}"
        if answer.status in _NOT_OURS:
            return ChannelRefused(
                f"{said}: the topic {self.topic} is not ours to use so; look at channels.ntfy.token"
            )
        if answer.status == rest.NOT_FOUND:
            return ChannelRefused(f"{said}: look at channels.ntfy.base_url and topic")
        if answer.status == rest.TOO_MANY:
            is_quota = answer.fields.get("code") == _QUOTA
            usual_s = QUOTA_RETRY_S if is_quota else rest.DEFAULT_RETRY_S
            retry_after_s = rest.seconds(answer.header("retry-after"), usual_s)
            return ChannelUnavailable(said, retry_after_s=retry_after_s)
        if answer.status >= rest.SERVER_ERRORS:
            return ChannelUnavailable(said)
        return MessageRefused(said)


def path_of(url: str) -> str:
    """Return the path of a file on its own server; empty if it is elsewhere."""
    try:
        path = urlsplit(url).path
    except ValueError:
        # People write it, and the server looks only at how it begins
        return ""
    return path if _FILE.fullmatch(path) else ""
