"""Archive of a server or a room: page by page, oldest first."""

import logging
from collections.abc import AsyncIterator
from xml.etree.ElementTree import Element

from msgspec import Struct

from agent.channels.xmpp.confirmations import XmppRefused
from agent.channels.xmpp.connection import XmppConnection
from agent.channels.xmpp.cursor import XmppMark
from agent.channels.xmpp.stanzas import (
    ARCHIVE,
    CLIENT,
    DELAY,
    SET,
    XmppMessage,
    element,
    form,
    read_message,
    stamped,
    text_of,
    usable,
    within,
)

_log = logging.getLogger(__name__)

# Of one page; servers give no more than a hundred or so
PAGE = 50
# How far clocks may be apart where only a time is known; what comes again is known by its id
MAX_APART_S = 3600.0
_FORWARD = "urn:xmpp:forward:0"


class ArchivedMessage(Struct, frozen=True):
    """Message in an archive; `told` is the message itself."""

    archived: str
    message: XmppMessage


class XmppArchive:
    """Our archive if the name is empty, or that of a room."""

    def __init__(self, connection: XmppConnection, name: str) -> None:
        self._connection = connection
        self._name = name

    async def last(self) -> str | None:
        """Return the newest id; empty if there is none, None without an archive."""
        try:
            ended, found = await self._page({"before": "", "max": "1"})
        except XmppRefused as err:
            _log.info("xmpp: no archive to catch up from (reason=%s)", err)
            return None
        return found[-1].archived if found else text_of(ended, f".//{{{SET}}}last")

    async def keep_all(self) -> None:
        """Ask the server to keep everything: some keep nothing by default."""
        wish = element(ARCHIVE, "prefs", default="always")
        try:
            await self._connection.ask(
                "set", "", within(wish, [element(ARCHIVE, "always"), element(ARCHIVE, "never")])
            )
        except XmppRefused as err:
            _log.info("xmpp: archive settings not changed (reason=%s)", err)

    async def since(self, mark: XmppMark) -> AsyncIterator[ArchivedMessage]:
        """Yield the messages after it."""
        after, start = mark.after, ""
        while True:
            limits = {"max": str(PAGE), **({"after": after} if after else {})}
            try:
                ended, found = await self._page(limits, start=start)
            except XmppRefused as err:
                if err.condition != "item-not-found" or start:
                    _log.warning(
                        "xmpp: archive not readable; missed messages are lost (reason=%s)", err
                    )
                    return
                # It is too old to be there any more
                after, start = "", stamped(mark.at_s - MAX_APART_S)
                continue
            for kept in found:
                yield kept
            before, after = after, text_of(ended, f".//{{{SET}}}last")
            fin = ended.find(f"{{{ARCHIVE}}}fin")
            is_complete = fin is not None and fin.get("complete") == "true"
            # A server that says the same page again has no more to say
            if is_complete or after in {"", before}:
                return

    async def has(self, known: str, partner: str) -> bool:
        """Return true if a message of ours is among the last ones of a chat."""
        try:
            _, found = await self._page({"before": "", "max": str(PAGE)}, **{"with": partner})
        except XmppRefused:
            return False
        return any(kept.message.known == known for kept in found)

    async def _page(
        self, limits: dict[str, str], **fields: str
    ) -> tuple[Element, list[ArchivedMessage]]:
        query = element(ARCHIVE, "query")
        if wanted := {name: value for name, value in fields.items() if value}:
            query.append(form(ARCHIVE, **wanted))
        query.append(within(element(SET, "set"), [element(SET, *one) for one in limits.items()]))
        ended, results = await self._connection.page(self._name, query)
        return ended, [kept for one in results if (kept := self._read(one)) is not None]

    def _read(self, result: Element) -> ArchivedMessage | None:
        forwarded = result.find(f"{{{_FORWARD}}}forwarded")
        told = None if forwarded is None else forwarded.find(f"{{{CLIENT}}}message")
        archived = usable(result.get("id", ""))
        if forwarded is None or told is None or not archived:
            return None
        delay = forwarded.find(f"{{{DELAY}}}delay")
        stamp = "" if delay is None else delay.get("stamp", "")
        owner = self._name or self._connection.address
        return ArchivedMessage(archived, read_message(told, owner, archived, stamp))
