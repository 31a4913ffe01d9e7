"""Source of an update: a file, or a URL whose download resumes after a cut.

The owner names the URL, so that it may be a machine at home; where it redirects to is public.
What comes is believed by its signature alone, whoever sends it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from agent.errors import AddressRefused, NetworkError, UpdateRefused
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.security.web_addresses import WebPlace, WebRules
from agent.system.clock import Clock
from agent.tools.web import look_up

_log = logging.getLogger(__name__)

_PIECE_BYTES = 1024 * 1024
# A release page, its storage, and one more
MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WHOLE, _REST = 200, 206
_FIRST_PASSING = 500
# In a row, without a byte in between: a router that starts anew takes two minutes
MAX_FAILURES = 8
RETRY_WAIT_S = 15.0


def is_url(word: str) -> bool:
    return word.lower().startswith(("http://", "https://"))


async def from_file(path: Path) -> AsyncIterator[bytes]:
    """The file, piece by piece."""
    with path.open("rb", buffering=0) as file:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            yield piece


class Download:
    """A URL, piece by piece; a connection that breaks is made again, for the rest of it."""

    def __init__(self, http: HttpClient, url: str, clock: Clock) -> None:
        self._http = http
        self._url = url
        self._clock = clock
        self._rules = WebRules(local=(_authority(url),))
        self._at_bytes = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        """Every byte once, in order.

        Raises:
            NetworkError: nobody answers any more.
            UpdateRefused: the server has no such file.
            AddressRefused: it leads to where nothing from outside may lead.
        """
        failures = 0
        while True:
            try:
                async for piece in self._rest():
                    failures = 0
                    self._at_bytes += len(piece)
                    yield piece
            except NetworkError as err:
                failures += 1
                if failures > MAX_FAILURES:
                    raise
                _log.warning(
                    "update: download interrupted (error=%s, retry_s=%.0f)", err, RETRY_WAIT_S
                )
                await self._clock.sleep(RETRY_WAIT_S)
            else:
                return

    async def _rest(self) -> AsyncIterator[bytes]:
        place = self._rules.place_of(self._url)
        for _ in range(MAX_REDIRECTS + 1):
            async with self._http.exchange(await self._request(place)) as answer:
                if answer.status not in _REDIRECTS:
                    async for piece in self._body(answer):
                        yield piece
                    return
                place = self._redirected(place, answer.header("location"))
        raise UpdateRefused(f"{place.host} redirects more than {MAX_REDIRECTS} times")

    async def _request(self, place: WebPlace) -> HttpRequest:
        address = ""
        if not self._rules.is_at_home(place):
            found = [place.host] if place.is_address else await look_up(place.host, place.port)
            address = str(self._rules.checked(place, found))
        headers = {"range": f"bytes={self._at_bytes}-"} if self._at_bytes else {}
        return HttpRequest("GET", place.url, headers, address=address)

    def _redirected(self, place: WebPlace, location: str) -> WebPlace:
        following = self._rules.place_of(urljoin(place.url, location))
        if place.scheme == "https" and following.scheme == "http":
            raise AddressRefused(f"{place.host} redirects to an unencrypted connection")
        return following

    async def _body(self, answer: HttpAnswer) -> AsyncIterator[bytes]:
        skipped_bytes = self._skipped(answer)
        while piece := await answer.read():
            wanted = piece[skipped_bytes:]
            skipped_bytes -= len(piece) - len(wanted)
            if wanted:
                yield wanted

    def _skipped(self, answer: HttpAnswer) -> int:
        """Return how many bytes of the answer are already here."""
        if answer.status == _WHOLE:
            return self._at_bytes
        begins = f"bytes {self._at_bytes}-"
        if answer.status == _REST and answer.header("content-range").startswith(begins):
            return 0
        if answer.status >= _FIRST_PASSING:
            raise NetworkError(f"{answer.host} answered with status {answer.status}")
        raise UpdateRefused(
            f"{answer.host} answered with status {answer.status}: is the address correct?"
        )


def _authority(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as err:
        raise AddressRefused("not a valid URL") from err
    host = parts.hostname or ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
