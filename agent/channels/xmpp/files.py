"""Files over the server's file store: uploads, and downloads from others.

Anybody can name any address in a message: only those of our server's own store, and public ones by
https, are fetched.
"""

import asyncio
import mimetypes
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit
from xml.etree.ElementTree import Element

from agent.channels.file_stream import downloaded, uploaded
from agent.channels.received_files import ReceivedFiles
from agent.channels.xmpp.confirmations import XmppRefused
from agent.channels.xmpp.connection import XmppConnection
from agent.channels.xmpp.stanzas import element
from agent.errors import AddressRefused, ChannelUnavailable, MessageRefused, NetworkError
from agent.messages import Attachment
from agent.net.addresses import is_this_machine
from agent.net.http import HttpClient, HttpRequest
from agent.security.web_addresses import WebRules
from agent.tools.web import look_up

# The largest over a slow uplink
UPLOAD_TIMEOUT_S = 120.0
MAX_URL_CHARS = 2000
MAX_NAME_CHARS = 100
# Of what a server shows of itself; stores are among the first
MAX_SERVICES = 30
_UPLOAD = "urn:xmpp:http:upload:0"
_ITEMS = "http://jabber.org/protocol/disco#items"
_INFO = "http://jabber.org/protocol/disco#info"
# The only ones that a store may ask for
_HEADERS = frozenset({"authorization", "cookie", "expires"})
_OK = 200
_DONE = frozenset({200, 201, 204})
_PIECE_BYTES = 64 * 1024
_RULES = WebRules()


class ConnectionSource(Protocol):
    """Source of the connection; None if there is none."""

    connection: XmppConnection | None


class XmppFiles:
    """Files of one account.

    Args:
        sending: has the connection.
    """

    def __init__(self, http: HttpClient, keeping: ReceivedFiles, sending: ConnectionSource) -> None:
        self._http = http
        self._keeping = keeping
        self._sending = sending
        # Of the server: where files are handed in, and where they are had
        self._store = ""
        self._origin = ""

    async def give(self, file: Attachment) -> str:
        """Upload a file and return its public address.

        Raises:
            ChannelError: the server has no store, or takes no such file.
        """
        path = Path(file.path)
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        kind = file.media_type if "/" in file.media_type else "application/octet-stream"
        slot = await self._slot(file.name or path.name, kind, size)
        put, get = _address(slot, "put"), _address(slot, "get")
        headers = {
            name: (one.text or "").strip()
            for one in slot.iter(f"{{{_UPLOAD}}}header")
            if (name := one.get("name", "").lower()) in _HEADERS
        }
        told = {**headers, "content-type": kind, "content-length": str(size)}
        request = HttpRequest("PUT", put, told, uploaded(path, size))
        try:
            async with self._http.exchange(request) as answer:
                if answer.status not in _DONE:
                    raise MessageRefused(f"{answer.host} refused the file: {answer.status}")
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err
        return get

    async def fetch(self, address: str) -> Attachment | str:
        """Return the file, or the reason why there is none."""
        if len(address) > MAX_URL_CHARS or not address.isascii() or not address.isprintable():
            return "its address cannot be used"
        try:
            parts = urlsplit(address)
        except ValueError:
            return "its address cannot be used"
        if parts.scheme == "aesgcm":
            return "it is encrypted"
        try:
            request = await self._request(address)
            async with self._http.exchange(request) as answer:
                if answer.status != _OK:
                    return f"{answer.host} answered with status {answer.status}"
                name = parts.path.rpartition("/")[2]
                kind = answer.header("content-type") or mimetypes.guess_type(name)[0] or ""
                return await self._keeping.keep(downloaded(answer), kind, name)
        except (NetworkError, AddressRefused) as err:
            return str(err)

    async def _request(self, address: str) -> HttpRequest:
        if _origin_of(address) == await self._own():
            return HttpRequest("GET", address)
        place = _RULES.place_of(address)
        if place.scheme != "https":
            raise AddressRefused(f"{place.host} would send the file unencrypted")
        found = [place.host] if place.is_address else await look_up(place.host, place.port)
        return HttpRequest("GET", address, address=str(_RULES.checked(place, found)))

    async def _own(self) -> str:
        """Return the download address of our server's store; empty if it has none."""
        if not self._origin:
            try:
                slot = await self._slot("a", "text/plain", 1)
                self._origin = _origin_of(_address(slot, "get"))
            except MessageRefused:
                return ""
        return self._origin

    async def _slot(self, name: str, kind: str, size: int) -> Element:
        connection = self._sending.connection
        if connection is None:
            raise ChannelUnavailable("not connected to the XMPP server")
        store = await self._found(connection)
        told = {"filename": name[-MAX_NAME_CHARS:], "size": str(size), "content-type": kind}
        answer = await connection.ask("get", store, element(_UPLOAD, "request", **told))
        slot = answer.find(f"{{{_UPLOAD}}}slot")
        if slot is None:
            raise MessageRefused(f"{store} gave no slot for the file")
        return slot

    async def _found(self, connection: XmppConnection) -> str:
        if not self._store:
            listed = await connection.ask("get", connection.host, element(_ITEMS, "query"))
            items = [one.get("jid", "") for one in listed.iter(f"{{{_ITEMS}}}item")]
            silent = []
            for service in [connection.host, *items[:MAX_SERVICES]]:
                try:
                    if await _takes_files(connection, service):
                        self._store = service
                        return service
                except ChannelUnavailable:
                    # It need not be the store: a service that is gone for good holds up no answer
                    silent.append(service)
            unknown = f"; {', '.join(silent)} did not answer" if silent else ""
            raise MessageRefused(f"{connection.host} has no file store (XEP-0363){unknown}")
        return self._store


async def _takes_files(connection: XmppConnection, service: str) -> bool:
    try:
        told = await connection.ask("get", service, element(_INFO, "query"))
    except XmppRefused:
        return False
    return any(one.get("var") == _UPLOAD for one in told.iter(f"{{{_INFO}}}feature"))


def _address(slot: Element, name: str) -> str:
    """Return the store's address for a file, to put or to get.

    Raises:
        MessageRefused: it is no address that is safe.
    """
    found = slot.find(f"{{{_UPLOAD}}}{name}")
    told = quote("" if found is None else found.get("url", ""), safe=":/?#[]@!$&'()*+,;=%~-._")
    parts = urlsplit(told)
    is_safe = parts.scheme == "https" or is_this_machine(parts.hostname or "")
    if parts.scheme not in {"http", "https"} or not is_safe or len(told) > MAX_URL_CHARS:
        raise MessageRefused("the server's file store has no https address")
    return told


def _origin_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}".lower()
