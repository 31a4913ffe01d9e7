"""Windows for answers: how long and how often each message may still be answered.

The platform takes nothing that answers no message. What was said in answer to which is on record
before it goes and after it went, so that a restart repeats nothing and uses no number twice.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from agent.channels.qq.events import CHANNEL, DM, GROUP, USER, kind_of
from agent.errors import StorageFull
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# What the platform's documentation says, less the time that an answer is on its way
WINDOW_S: Mapping[str, float] = {
    USER: 59 * 60.0,
    DM: 59 * 60.0,
    GROUP: 4.5 * 60,
    CHANNEL: 4.5 * 60,
}
# Answers to one message
MAX_REPLIES = 5
# Messages of one place that are open at once, and places; the newest stay
MAX_MESSAGES = 20
MAX_PLACES = 500
# Answers that are known not to go again
MAX_SENT = 300
MAX_FILE_BYTES = 4 * 1024 * 1024


class _KeptMessage(msgspec.Struct, frozen=True):
    message_id: str
    # By people's time: what is left of it after a restart
    until_s: float
    replies: list[str]


class _Kept(msgspec.Struct, frozen=True):
    account: str
    places: dict[str, list[_KeptMessage]]
    sent: list[str]


class _Message(Struct):
    message_id: str
    until_s: float
    # Its answers by their number, less one; empty where a number turned out to be used
    replies: list[str] = field(default_factory=list)

    def has_room(self, now_s: float) -> bool:
        return now_s < self.until_s and len(self.replies) < MAX_REPLIES


class QqReply(Struct, frozen=True):
    """Permit for one reply.

    Args:
        seq: with the message's id it is taken once.
        was_tried: it may have been said before, by this process or the one before it.
    """

    place: str
    message_id: str
    seq: int
    key: str
    was_tried: bool


class QqWindows:
    """Windows for answers by place; `has_room` needs no wait.

    Args:
        account: which bot's: answers of another one are none of ours.
    """

    def __init__(self, path: Path, account: str, clock: Clock) -> None:
        self._path = path
        self._account = account
        self._clock = clock
        self._places: dict[str, list[_Message]] = {}
        # Where somebody is whom the agent knows; what strangers do leaves nothing on the disk
        self._known: set[str] = set()
        self._sent: list[str] = []
        self._one_at_a_time = asyncio.Lock()
        self._load()

    def has_room(self, place: str) -> bool:
        """Return true if anything can be sent there now."""
        now_s = self._clock.monotonic_s()
        return any(message.has_room(now_s) for message in self._places.get(place, ()))

    def has_tried(self, place: str, prefix: str) -> bool:
        """Return true if a try is on record whose outcome is unknown and that may be repeated."""
        now_s = self._clock.monotonic_s()
        return any(
            key.startswith(prefix) and key not in self._sent
            for message in self._places.get(place, ())
            if now_s < message.until_s
            for key in message.replies
        )

    def was_sent(self, key: str) -> bool:
        return key in self._sent

    async def open(self, place: str, message_id: str, *, is_known: bool = True) -> None:
        """Open a window for a new message."""
        if is_known:
            self._known.add(place)
        messages = self._places.pop(place, [])
        if all(one.message_id != message_id for one in messages):
            until_s = self._clock.monotonic_s() + WINDOW_S[kind_of(place)]
            messages = [*messages[-MAX_MESSAGES + 1 :], _Message(message_id, until_s)]
        # The place that was written in last is forgotten last
        self._places[place] = messages
        while len(self._places) > MAX_PLACES:
            self._forget_one()
        await self._save(place)

    async def take(self, place: str, key: str, answered: str) -> QqReply | None:
        """Take a permit, of the answered message if it is open; None for not now."""
        now_s = self._clock.monotonic_s()
        messages = self._places.get(place, [])
        for one in messages:
            if key in one.replies and now_s < one.until_s:
                return QqReply(
                    place, one.message_id, one.replies.index(key) + 1, key, was_tried=True
                )
        open_ones = [one for one in messages if one.has_room(now_s)]
        if not open_ones:
            return None
        chosen = next((one for one in open_ones if one.message_id == answered), open_ones[0])
        chosen.replies.append(key)
        reply = QqReply(place, chosen.message_id, len(chosen.replies), key, was_tried=False)
        await self._save(place)
        return reply

    async def sent(self, reply: QqReply) -> None:
        """Record that the platform has it."""
        self._sent = [*self._sent[-MAX_SENT + 1 :], reply.key]
        await self._save(reply.place)

    async def refused(self, reply: QqReply, *, is_used: bool) -> None:
        """Record a refusal: the number is free, or taken by an unrecorded reply."""
        for one in self._of(reply):
            if is_used or len(one.replies) > reply.seq:
                one.replies[reply.seq - 1] = ""
            else:
                one.replies.pop()
        await self._save(reply.place)

    async def close(self, reply: QqReply) -> None:
        """Close a window: the platform takes no more answers to that message."""
        for one in self._of(reply):
            one.until_s = 0.0
            one.replies[reply.seq - 1] = ""
        await self._save(reply.place)

    def _forget_one(self) -> None:
        """Forget one window, of the place that holds the most."""
        oldest = next(iter(self._places))
        place = next((one for one in self._places if one not in self._known), oldest)
        del self._places[place]
        self._known.discard(place)

    def _of(self, reply: QqReply) -> list[_Message]:
        found = self._places.get(reply.place, [])
        return [
            one
            for one in found
            if one.message_id == reply.message_id and len(one.replies) >= reply.seq
        ]

    async def _save(self, place: str) -> None:
        if place not in self._known:
            return
        async with self._one_at_a_time:
            await asyncio.to_thread(self._write, self._kept())

    def _kept(self) -> _Kept:
        now_s, wall_s = self._clock.monotonic_s(), self._clock.wall_s()
        places = {}
        for place in self._places.keys() & self._known:
            messages = self._places[place]
            left = [
                _KeptMessage(one.message_id, wall_s + one.until_s - now_s, [*one.replies])
                for one in messages
                if one.until_s > now_s
            ]
            if left:
                places[place] = left
        return _Kept(self._account, places, self._sent)

    def _load(self) -> None:
        kept = self._read()
        if kept is None or kept.account != self._account:
            return
        now_s, wall_s = self._clock.monotonic_s(), self._clock.wall_s()
        self._sent = kept.sent
        for place, messages in kept.places.items():
            most_s = WINDOW_S.get(kind_of(place), 0.0)
            self._known.add(place)
            # A clock that was set back makes nothing longer
            self._places[place] = [
                _Message(one.message_id, now_s + min(one.until_s - wall_s, most_s), one.replies)
                for one in messages
            ]

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self, kept: _Kept) -> None:
        try:
            write_atomic(self._path, msgspec.json.encode(kept))
        except (StorageFull, OSError) as err:
            _log.warning(
                "qq: reply count not saved; after a restart an answer may come twice (reason=%s)",
                err,
            )
