"""Client of the Graph API for one business number.

The only module that knows addresses; the token goes to the platform alone and is in no error.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import msgspec

from agent.channels import rest
from agent.channels.multipart import MultipartForm
from agent.channels.whatsapp.errors import failure
from agent.config import Secret
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.text.printable import printable_line

# Two years of life each; calls that we make have been the same in all of them
GRAPH_VERSION = "v24.0"
# The platform answers in a fraction of it
CALL_TIMEOUT_S = 20.0
# A file over a slow line; the platform answers when it has all of it
UPLOAD_TIMEOUT_S = 180.0
# Where the platform keeps files; the token goes nowhere else
_FILE_HOSTS = (".fbsbx.com", ".facebook.com", ".whatsapp.net", ".whatsapp.com", ".fbcdn.net")


class _Error(msgspec.Struct, frozen=True):
    code: int = 0
    error_subcode: int = 0


class _Told(msgspec.Struct, frozen=True):
    """Fields that any answer may hold."""

    error: _Error = _Error()
    id: str = ""
    url: str = ""
    file_size: int | str = 0
    display_phone_number: str = ""
    verified_name: str = ""


class WhatsAppApi:
    """Client of one number."""

    def __init__(self, base_url: str, number_id: str, token: Secret, http: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self.number_id = number_id
        self._token = token
        self._http = http

    async def send(self, message: Mapping[str, object]) -> None:
        """Send a message; return when the platform has it.

        Raises:
            ChannelError: it has not.
        """
        content = msgspec.json.encode({"messaging_product": "whatsapp", **message})
        headers = {**self._headers(), "content-type": "application/json"}
        await self._told(HttpRequest("POST", self._of_number("messages"), headers, content))

    async def upload(self, file: Attachment, kind: str) -> str:
        """Upload a file and return its id."""
        form = MultipartForm({"messaging_product": "whatsapp", "type": kind}, "file", file)
        headers = {**self._headers(), **form.headers}
        request = HttpRequest("POST", self._of_number("media"), headers, form.pieces())
        told = await self._told(request, UPLOAD_TIMEOUT_S)
        if not told.id:
            raise ChannelUnavailable("WhatsApp gave no id for the uploaded file")
        return told.id

    @asynccontextmanager
    async def media(self, media_id: str) -> AsyncIterator[HttpAnswer]:
        """Yield the content of a received file: first its address, good for minutes, then the file.

        Raises:
            ChannelError: it is not to be had.
        """
        url = f"{self._base_url}/{GRAPH_VERSION}/{media_id}?phone_number_id={self.number_id}"
        told = await self._told(HttpRequest("GET", url, self._headers()))
        if not self._is_platforms(told.url):
            raise MessageRefused("the file is not on WhatsApp's server")
        async with self._exchange(
            HttpRequest("GET", told.url, self._headers()), CALL_TIMEOUT_S
        ) as answer:
            yield answer

    async def whoami(self) -> str:
        """Return the number as people see it, and its name."""
        told = await self._told(
            HttpRequest(
                "GET",
                f"{self._of_number('')}?fields=display_phone_number,verified_name",
                self._headers(),
            )
        )
        number = printable_line(told.display_phone_number, 40) or f"number {self.number_id}"
        name = printable_line(told.verified_name, 100)
        return f"{number} ({name})" if name else number

    def _of_number(self, what: str) -> str:
        return f"{self._base_url}/{GRAPH_VERSION}/{self.number_id}/{what}".rstrip("/")

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token.reveal()}"}

    def _is_platforms(self, url: str) -> bool:
        if url.startswith(f"{self._base_url}/"):
            return True
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").lower()
        except ValueError:
            return False
        return parts.scheme == "https" and host.endswith(_FILE_HOSTS)

    async def _told(self, request: HttpRequest, timeout_s: float = CALL_TIMEOUT_S) -> _Told:
        async with self._exchange(request, timeout_s) as answer:
            return _told_by(await rest.whole(answer))

    @asynccontextmanager
    async def _exchange(self, request: HttpRequest, timeout_s: float) -> AsyncIterator[HttpAnswer]:
        async with rest.answering(self._http, request, timeout_s) as answer:
            if answer.status != rest.OK:
                reply = await rest.whole(answer)
                error = _told_by(reply).error
                wait_s = rest.seconds(reply.header("retry-after"), 0.0)
                raise failure(reply.status, error.code, error.error_subcode, wait_s)
            yield answer


def _told_by(reply: rest.RestReply) -> _Told:
    try:
        return msgspec.convert(reply.told, _Told)
    except msgspec.ValidationError:
        return _Told()
