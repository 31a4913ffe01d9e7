"""Web requests: checked addresses, limits, and redirects that are followed by hand.

A name is looked up once; what was checked is what is connected to. A redirect to another host is
not followed but told: going there is a new decision. Of a request only its method and host are
logged, never its path, headers or body.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urljoin

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import AddressRefused, NetworkError
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.security.web_addresses import Address, WebPlace, WebRules
from agent.text.charsets import decoded

_log = logging.getLogger(__name__)

# A page, its redirects and all: longer than that nobody waits for in a chat
TOTAL_TIMEOUT_S = 30.0
FIRST_BYTE_TIMEOUT_S = 15.0
# The resolver's own retries are over by then
LOOKUP_TIMEOUT_S = 5.0
MAX_BODY_BYTES = 2 * 1024 * 1024
# A page that moved, its protected form, its language; more is a loop or a chase
MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Others would send what was meant for one place to another
_REPEATABLE = frozenset({"GET", "HEAD"})
_USUAL_PORTS = frozenset({80, 443})
# All that goes along when a redirect leads to another form of the same host
_UNPERSONAL = frozenset({"accept", "accept-language"})
# Control characters but tab and line feed, what has no width, what turns text around, tags
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_CHARSET = re.compile(r"charset=\"?([\w.:-]{1,40})", re.IGNORECASE)

# All addresses of a name, as text
Lookup = Callable[[str, int], Awaitable[list[str]]]


class WebRequest(Struct, frozen=True):
    """A web request."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""


class WebAnswer(Struct, frozen=True):
    """Answer of the last host; `is_cut` is true if the body was longer."""

    status: int
    url: str
    content_type: str
    location: str
    body: bytes
    is_cut: bool

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """Return the body as text, without invisible characters."""
        named = _CHARSET.search(self.content_type)
        return seen(decoded(self.body, named[1] if named else "utf-8"))


class Web:
    """Access to the web within the owner's rules."""

    def __init__(self, http: HttpClient, rules: WebRules, lookup: Lookup | None = None) -> None:
        self._http = http
        self._rules = rules
        self._lookup = lookup or look_up

    def place_of(self, url: str) -> WebPlace:
        """Return the host that a URL leads to.

        Raises:
            AddressRefused: nothing of ours may go there.
        """
        return self._rules.place_of(url)

    async def address_of(self, place: WebPlace) -> Address:
        """Return the address to connect to; what was checked is what is returned.

        Raises:
            AddressRefused: it is one where nothing of ours may go.
            NetworkError: the name has none.
        """
        if place.is_address:
            return self._rules.checked(place, [place.host])
        return self._rules.checked(place, await self._lookup(place.host, place.port))

    async def fetch(self, request: WebRequest, *, follow: bool = True) -> WebAnswer:
        """Return the host's answer; a redirect to another host is returned as `location`.

        Args:
            follow: false returns each redirect so, also one within the host.

        Raises:
            AddressRefused: somewhere on the way nothing of ours may go.
            NetworkError: there is no answer.
        """
        place = self.place_of(request.url)
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT_S):
                for _ in range(MAX_REDIRECTS + 1):
                    answer = await self._fetch_once(place, request)
                    if not _is_redirect(request.method, answer):
                        return answer
                    following = self._redirected(place, answer.location)
                    if not follow or is_elsewhere(place, following):
                        return replace(answer, location=following.url)
                    if following.origin != place.origin:
                        request = replace(request, headers=_unpersonal(request.headers))
                    place = following
        except TimeoutError as err:
            raise NetworkError(f"{place.host} took longer than {TOTAL_TIMEOUT_S:.0f} s") from err
        raise NetworkError(f"{place.host} redirects more than {MAX_REDIRECTS} times")

    def _redirected(self, place: WebPlace, location: str) -> WebPlace:
        try:
            following = self.place_of(urljoin(place.url, location))
        except ValueError as err:
            raise AddressRefused(f"{place.host} redirects to an invalid URL") from err
        if place.scheme == "https" and following.scheme == "http":
            raise AddressRefused(f"{place.host} redirects from https to plain http")
        return following

    async def _fetch_once(self, place: WebPlace, request: WebRequest) -> WebAnswer:
        address = await self.address_of(place)
        sent = HttpRequest(
            request.method, place.url, request.headers, request.content, str(address)
        )
        async with self._http.exchange(sent, FIRST_BYTE_TIMEOUT_S) as answer:
            _log.info(
                "web: answered (method=%s, host=%s, status=%d)",
                request.method,
                place.host,
                answer.status,
            )
            told = (answer.header("content-type"), answer.header("location"))
            head = WebAnswer(answer.status, place.url, *told, b"", is_cut=False)
            if _is_redirect(request.method, head):
                return head
            body, is_cut = await _body_of(answer)
            return replace(head, body=body, is_cut=is_cut)


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses from the system's resolver.

    Raises:
        NetworkError: it knows no such name, or does not answer.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOKUP_TIMEOUT_S):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as err:
        said = "check the network and the name"
        raise NetworkError(f"{host} was not found: {said}") from err
    return [str(info[4][0]) for info in found]


def is_redirect(answer: WebAnswer) -> bool:
    """Return true if the answer only names another place."""
    return answer.status in _REDIRECTS and bool(answer.location)


def seen(text: str) -> str:
    """Return the visible characters of a text."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n"))


def is_elsewhere(place: WebPlace, following: WebPlace) -> bool:
    """Return true for another host or port; `www.` and the https form are the same host."""
    hosts = {one.host.removeprefix("www.") for one in (place, following)}
    ports = {one.port for one in (place, following)}
    return len(hosts) > 1 or (len(ports) > 1 and not ports <= _USUAL_PORTS)


def _is_redirect(method: str, answer: WebAnswer) -> bool:
    return method in _REPEATABLE and is_redirect(answer)


def _unpersonal(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name in _UNPERSONAL}


async def _body_of(answer: HttpAnswer) -> tuple[bytes, bool]:
    body = bytearray()
    while piece := await answer.read():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return bytes(body[:MAX_BODY_BYTES]), True
    return bytes(body), False
