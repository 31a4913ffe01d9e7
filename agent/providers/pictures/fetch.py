"""Pictures from the Internet, only if a person has allowed it.

Only https, only public addresses, no redirect, bounded in time and size. The address that was
looked at is the one that is connected to, so a name that leads elsewhere the next time is no help.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from agent.errors import AddressRefused, NetworkError
from agent.messages import Image
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.providers.pictures.kinds import image_of
from agent.security.web_addresses import WebRules

# A picture of the largest size over a slow line; a person waits for it
FETCH_TIMEOUT_S = 20.0
# A name that takes longer to look up is not there
LOOK_UP_TIMEOUT_S = 5.0
# Kept, so that a turn of several rounds fetches a picture once
MAX_KEPT_CHARS = 8 * 1024 * 1024
# Longer addresses carry something else than a place
MAX_URL_CHARS = 2000

_OK = 200
_REDIRECTS = range(300, 400)
_HTTPS_PORT = 443
_HEADERS = {"accept": "image/png, image/jpeg, image/webp, image/gif"}

# No place at home: what a person lets tools reach there is not for addresses in messages
_RULES = WebRules()

LookUp = Callable[[str], Awaitable[Sequence[str]]]


async def look_up(host: str) -> Sequence[str]:
    """Return every address of a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, _HTTPS_PORT, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PictureFetch:
    """Fetches pictures.

    Args:
        find: looks up the addresses of a name; a test gives its own.
    """

    def __init__(self, http: HttpClient, max_bytes: int, find: LookUp = look_up) -> None:
        self._http = http
        self._max_bytes = max_bytes
        self._find = find
        # The newest last
        self._kept: dict[str, Image] = {}

    async def load(self, reference: str) -> Image | str:
        """Return the picture, or why there is none."""
        host = _host_of(reference)
        if not host:
            return "its address must be like https://example.org/picture.png"
        if reference in self._kept:
            return self._kept[reference]
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                address = await self._address_of(host)
                found = await self._fetch(reference, address)
        except (NetworkError, AddressRefused) as err:
            return str(err)
        except TimeoutError:
            return f"{host} did not send it within {FETCH_TIMEOUT_S:.0f} s"
        if isinstance(found, Image):
            self._keep(reference, found)
        return found

    def _keep(self, url: str, image: Image) -> None:
        self._kept[url] = image
        while sum(len(kept.data_base64) for kept in self._kept.values()) > MAX_KEPT_CHARS:
            del self._kept[next(iter(self._kept))]

    async def _address_of(self, host: str) -> str:
        """Return the address to connect to.

        Raises:
            NetworkError: there is nothing of that name.
            AddressRefused: it leads to where nothing of ours may go.
        """
        try:
            async with asyncio.timeout(LOOK_UP_TIMEOUT_S):
                found = await self._find(host)
        except (OSError, TimeoutError, UnicodeError) as err:
            raise NetworkError(f"{host} was not found") from err
        place = _RULES.place_of(f"https://{host}/")
        return str(_RULES.checked(place, found))

    async def _fetch(self, url: str, address: str) -> Image | str:
        request = HttpRequest("GET", url, _HEADERS, address=address)
        async with self._http.exchange(request) as answer:
            if answer.status in _REDIRECTS:
                return f"{answer.host} redirects, and redirects are not followed"
            if answer.status != _OK:
                return f"{answer.host} answered with status {answer.status}"
            content = await self._body(answer)
        return await asyncio.to_thread(image_of, content, self._max_bytes)

    async def _body(self, answer: HttpAnswer) -> bytes:
        """Read at most one piece more than is allowed."""
        content = bytearray()
        while piece := await answer.read():
            content += piece
            if len(content) > self._max_bytes:
                break
        return bytes(content)


def _host_of(url: str) -> str:
    """Return the host of an address that may be asked; empty if it may not."""
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme == "https" and parts.port in {None, _HTTPS_PORT}
    except ValueError:
        return ""
    return (parts.hostname or "") if is_plain and parts.username is None else ""
