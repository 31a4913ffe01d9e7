"""A person's program for XMPP, on slixmpp: it says what it is told to and remembers what comes."""

import asyncio
import contextlib
import copy
import ssl
from collections.abc import AsyncIterator
from xml.etree.ElementTree import Element, SubElement, fromstring

import httpx
import slixmpp
from slixmpp.stanza import Message, Presence
from slixmpp.xmlstream import StanzaBase

from tests.fakes.prosody import HOST, PASSWORD, ROOMS, Prosody
from tests.waits import wait_until

PATIENCE_S = 20.0
_CLIENT = "{jabber:client}"
_CORRECTION = "{urn:xmpp:message-correct:0}"
_OOB = "{jabber:x:oob}"
_UPLOAD = "{urn:xmpp:http:upload:0}"


class Person:
    """Somebody with a telephone."""

    def __init__(self, server: Prosody, name: str) -> None:
        self.name = name
        self.address = server.account(name)
        self.messages: list[Element] = []
        self.presences: list[Element] = []
        self._server = server
        self.client = self._program()

    async def enter(self, *rooms: str) -> None:
        entered = asyncio.ensure_future(self.client.wait_until("stream_negotiated", PATIENCE_S))
        await asyncio.sleep(0)
        self.client.connect("127.0.0.1", self._server.port)
        await entered
        self.client.send_presence()
        for room in rooms:
            await self.go_in(room)

    async def enter_again(self, *rooms: str) -> None:
        """After the server was gone; who else is there is seen anew."""
        await self.leave()
        self.presences.clear()
        self.client = self._program()
        await self.enter(*rooms)

    async def go_in(self, room: str) -> None:
        """Or change the name that they have there."""
        wish = self.client.make_presence(pto=f"{room}/{self.name}")
        SubElement(wish.xml, "{http://jabber.org/protocol/muc}x")
        wish.send()
        await wait_until(lambda: self.sees(f"{room}/{self.name}"))

    async def leave(self) -> None:
        gone = self.client.disconnected
        self.client.abort()
        if self.client._run_out_filters is not None:
            self.client._run_out_filters.cancel()
        await asyncio.wait({gone}, timeout=1)

    def say(self, to: str, text: str, *more: str, known: str = "") -> str:
        """The id of the message; `more` are further elements of it."""
        kind = "groupchat" if to.endswith(f"@{ROOMS}") else "chat"
        made = self.client.make_message(to, mtype=kind)  # type: ignore[arg-type]  # one of them
        if known:
            made.set_id(known)
        if text:
            made["body"] = text
        made.xml.extend(fromstring(one) for one in more)
        made.send()
        return str(made["id"])

    async def upload(self, content: bytes, name: str = "sheet.pdf") -> str:
        """Where everybody has it."""
        asked = self.client.make_iq_get(ito=f"files.{HOST}")
        told = {"filename": name, "size": str(len(content)), "content-type": "application/pdf"}
        SubElement(asked.xml, f"{_UPLOAD}request", told)
        slot = (await asked.send(timeout=PATIENCE_S)).xml
        put, get = (next(slot.iter(f"{_UPLOAD}{one}")) for one in ("put", "get"))
        headers = {one.get("name", ""): one.text or "" for one in put}
        headers["content-type"] = "application/pdf"
        async with httpx.AsyncClient() as http:
            answer = await http.put(put.get("url", ""), content=content, headers=headers)
            assert answer.status_code == httpx.codes.CREATED, answer.text
        return get.get("url", "")

    def sees(self, address: str) -> bool:
        """Whether they are there, in a room or as one of the contacts."""
        told = [one.get("type") for one in self.presences if one.get("from") == address]
        return told[-1:] == [None]

    def went(self, address: str) -> bool:
        """Whether they have left since they first came."""
        told = [one.get("type") for one in self.presences if one.get("from") == address]
        return "unavailable" in told

    def sees_somebody(self, address: str) -> bool:
        """The same of any program of theirs."""
        return any(
            self.sees(one.get("from", ""))
            for one in self.presences
            if one.get("from", "").partition("/")[0] == address
        )

    async def ping(self, address: str) -> None:
        """Until whatever was on its way to its server has arrived there."""
        asked = self.client.make_iq_get(ito=address.partition("@")[2])
        SubElement(asked.xml, "{urn:xmpp:ping}ping")
        await asked.send(timeout=PATIENCE_S)

    async def archived(self) -> list[str]:
        """The words that the server has kept of her chats."""
        asked = self.client.make_iq_set()
        SubElement(asked.xml, "{urn:xmpp:mam:2}query")
        await asked.send(timeout=PATIENCE_S)
        results = [one.find("{urn:xmpp:mam:2}result") for one in self.messages]
        found = [one.find(f".//{_CLIENT}body") for one in results if one is not None]
        return [one.text or "" for one in found if one is not None]

    def told(self, by: str) -> list[str]:
        """The words of somebody that stand in the chat, corrections in their places."""
        shown: dict[str, str] = {}
        for one in self.of(by):
            body, replaced = one.find(f"{_CLIENT}body"), one.find(f"{_CORRECTION}replace")
            if body is not None and one.find(f"{_OOB}x") is None:
                key = one.get("id", "") if replaced is None else replaced.get("id", "")
                shown[key] = body.text or ""
        return list(shown.values())

    def links(self, by: str) -> list[str]:
        found = [one.find(f"{_OOB}x/{_OOB}url") for one in self.of(by)]
        return [one.text or "" for one in found if one is not None]

    def of(self, by: str) -> list[Element]:
        """What came from an address, with any resource where it has none itself."""
        return [
            one
            for one in self.messages
            if by in {one.get("from", ""), one.get("from", "").partition("/")[0]}
            and one.get("type") != "error"
        ]

    def count(self, by: str, name: str) -> int:
        """How many messages of somebody hold such an element."""
        return sum(next(one.iter(name), None) is not None for one in self.of(by))

    def _program(self) -> slixmpp.ClientXMPP:
        context = ssl.create_default_context(cafile=self._server.certificate)
        made = slixmpp.ClientXMPP(f"{self.address}/phone", PASSWORD, ssl_context=context)
        made.enable_direct_tls = False
        made.add_filter("in", self._see)
        return made

    def _see(self, stanza: StanzaBase) -> StanzaBase:
        if isinstance(stanza, Message):
            self.messages.append(copy.deepcopy(stanza.xml))
        elif isinstance(stanza, Presence):
            self.presences.append(copy.deepcopy(stanza.xml))
        return stanza


@contextlib.asynccontextmanager
async def present(server: Prosody, name: str, *rooms: str) -> AsyncIterator[Person]:
    person = Person(server, name)
    try:
        await person.enter(*rooms)
        yield person
    finally:
        await person.leave()
