"""Archive of a server or a room: page by page, oldest first."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from agent.channels.xmpp.confirming import XmppRefused
from agent.channels.xmpp.connection import Connection
from agent.channels.xmpp.position import Mark
from agent.channels.xmpp.stanzas import (
    ARCHIVE,
    CLIENT,
    DELAY,
    SET,
    Message,
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
# A device that was away for a month in a busy room; more is told to be lost
MAX_PAGES = 100
# How far clocks may be apart where only a time is known; what comes again is known by its id
MAX_APART_S = 3600.0
_FORWARD = "urn:xmpp:forward:0"


@dataclass(frozen=True, slots=True)
class Kept:
    """A message as an archive has it; `told` is the message itself."""

    archived: str
    message: Message


class Archive:
    """Ours, with an empty name, or that of a room."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    async def last(self) -> str | None:
        """The id of the newest; empty where it has none, None where there is no archive."""
        try:
            ended, found = await self._page({"before": "", "max": "1"})
        except XmppRefused as err:
            _log.info("no archive to catch up by: %s", err)
            return None
        return found[-1].archived if found else text_of(ended, f".//{{{SET}}}last")

    async def keep_all(self) -> None:
        """Have it keep what everybody says: some servers keep nothing until they are told to."""
        wish = element(ARCHIVE, "prefs", default="always")
        try:
            await self._connection.ask(
                "set", "", within(wish, [element(ARCHIVE, "always"), element(ARCHIVE, "never")])
            )
        except XmppRefused as err:
            _log.info("the archive keeps what its server wants: %s", err)

    async def since(self, mark: Mark) -> AsyncIterator[Kept]:
        """Yield the messages after it."""
        after, start = mark.after, ""
        for _ in range(MAX_PAGES):
            limits = {"max": str(PAGE), **({"after": after} if after else {})}
            try:
                ended, found = await self._page(limits, start=start)
            except XmppRefused as err:
                if err.condition != "item-not-found" or start:
                    _log.warning("an archive cannot be read, what came is lost: %s", err)
                    return
                # It is too old to be there any more
                after, start = "", stamped(mark.at_s - MAX_APART_S)
                continue
            for kept in found:
                yield kept
            after = text_of(ended, f".//{{{SET}}}last")
            fin = ended.find(f"{{{ARCHIVE}}}fin")
            if not after or (fin is not None and fin.get("complete") == "true"):
                return
        _log.warning("more was said while the agent was away than is fetched: the newest is lost")

    async def has(self, known: str, partner: str) -> bool:
        """Return true if a message of ours is among the last ones of a chat."""
        try:
            _, found = await self._page({"before": "", "max": str(PAGE)}, **{"with": partner})
        except XmppRefused:
            return False
        return any(kept.message.known == known for kept in found)

    async def _page(self, limits: dict[str, str], **fields: str) -> tuple[Element, list[Kept]]:
        query = element(ARCHIVE, "query")
        if wanted := {name: value for name, value in fields.items() if value}:
            query.append(form(ARCHIVE, **wanted))
        query.append(within(element(SET, "set"), [element(SET, *one) for one in limits.items()]))
        ended, results = await self._connection.page(self._name, query)
        return ended, [kept for one in results if (kept := self._read(one)) is not None]

    def _read(self, result: Element) -> Kept | None:
        forwarded = result.find(f"{{{_FORWARD}}}forwarded")
        told = None if forwarded is None else forwarded.find(f"{{{CLIENT}}}message")
        archived = usable(result.get("id", ""))
        if forwarded is None or told is None or not archived:
            return None
        delay = forwarded.find(f"{{{DELAY}}}delay")
        stamp = "" if delay is None else delay.get("stamp", "")
        owner = self._name or self._connection.address
        return Kept(archived, read_message(told, owner, archived, stamp))
