"""Messages that wait for the confirmation of the server, or the room."""

import asyncio
from xml.etree.ElementTree import Element

from msgspec import Struct

from agent.channels.xmpp.stanzas import bare
from agent.errors import ChannelError, ChannelUnavailable, MessageRefused
from agent.text.printable import printable_line

MAX_REASON_CHARS = 200
_STANZAS = "{urn:ietf:params:xml:ns:xmpp-stanzas}"


class XmppRefused(MessageRefused):
    """The server, a room or a person's server refuses; `condition` is its word for why."""

    def __init__(self, text: str, condition: str) -> None:
        super().__init__(text)
        self.condition = condition


class _Said(Struct, frozen=True):
    to: str
    is_to_room: bool
    confirmed: asyncio.Future[None]


class UnconfirmedMessages:
    """Unconfirmed messages of one connection, by id."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def expect(self, known: str, to: str, *, is_to_room: bool) -> asyncio.Future[None]:
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._said[known] = _Said(bare(to), is_to_room, confirmed)
        return confirmed

    def forget(self, known: str) -> None:
        del self._said[known]

    def acknowledged(self, known: str) -> None:
        """Confirm a message by the server; a room's own word counts more, and comes later."""
        said = self._said.get(known)
        if said is not None and not said.is_to_room and not said.confirmed.done():
            said.confirmed.set_result(None)

    def takes(self, told: Element) -> bool:
        """Return true if a message only says that one of ours was refused."""
        said = self._said.get(told.get("id", ""))
        sender = bare(told.get("from", ""))
        if said is None or said.confirmed.done() or sender not in {said.to, ""}:
            return False
        if told.get("type") == "error":
            said.confirmed.set_exception(refusal(told, said.to))
            return True
        if said.is_to_room and told.get("type") == "groupchat":
            said.confirmed.set_result(None)
        return False


def refusal(told: Element, by: str) -> ChannelError:
    """Return the meaning of an error of `by`: wait, or no."""
    errors = [error for error in told if error.tag.endswith("}error")]
    named = [one for error in errors for one in error if one.tag.startswith(_STANZAS)]
    texts = [one.text or "" for one in named if one.tag == f"{_STANZAS}text"]
    names = [one.tag.removeprefix(_STANZAS) for one in named if one.tag != f"{_STANZAS}text"]
    condition = names[0] if names else ""
    why = next(filter(None, texts), condition) or "no reason is given"
    shown = (printable_line(one, MAX_REASON_CHARS) for one in (by, why))
    if any(error.get("type") == "wait" for error in errors):
        return ChannelUnavailable(" does not take it now: ".join(shown))
    return XmppRefused(" does not take it: ".join(shown), condition)
