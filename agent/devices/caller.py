"""Near side: asks one other device, and finds out what became of each act.

An act is noted before it is sent. It is said again until the other device answers, under the same
id, and is never sent under another one while nobody knows what became of the first.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from agent.access.owner import Tell
from agent.devices.ledger import TOLD_CHARS, AskedAct, DeviceLedger
from agent.devices.wire import (
    DeviceMessage,
    DeviceReply,
    DeviceRequest,
    DeviceSeal,
    Outcome,
    RequestKind,
)
from agent.errors import ChannelError, LinkLost, OutcomeUnknown, StorageFull, WrongDevice
from agent.link.manifest import Manifest, read_manifest
from agent.passage import configured, own
from agent.system.clock import Clock
from agent.system.crash_points import crash_point

_log = logging.getLogger(__name__)

# A device of the same house answers in some ten milliseconds, a busy one within a second
SAY_AGAIN_S = 2.0
# Who has not answered a greeting or a look by then is away
ANSWER_S = 6.0
# An act is begun within this, by the far clock, or not at all
BEGUN_WITHIN_S = 20.0
# Without a word for so long nobody waits on; the outcome is told when it is known
SILENT_S = 45.0
# The far owner is asked, two minutes for each question
ACT_S = 600.0
# What a greeting says of clock and session holds so long
GREETING_HOLDS_S = 30.0
# How often a device is greeted that nothing is asked of, so that its tools are known
GREET_EVERY_S = 60.0
# How often an open act is asked for
SETTLE_EVERY_S = 5.0
# After so long nobody asks any more: the far device is gone for good
GIVEN_UP_S = 7 * 86_400.0
# A session may end between greeting and act
_TRIES = 3
_ID_BYTES = 16


class Post(Protocol):
    """Way to one other device."""

    async def send(self, payload: bytes) -> None:
        """Send once.

        Raises:
            ChannelError: it did not go out.
        """

    def close(self) -> None:
        """Let go of a connection; the next message makes another one."""


class KnownBoard(Struct, frozen=True):
    """Board of the other device, as it was offered last."""

    name: str
    is_there: bool
    manifest: Manifest


class Greeting(Struct, frozen=True):
    """Last greeting: the far session, ledger and clock, and what is offered."""

    session: str
    book: str
    clock_ms: int
    at_s: float
    boards: tuple[KnownBoard, ...]
    has_readings: bool

    def until_ms(self, now_s: float) -> int:
        """Return the time on the far clock by which an act of now has to begin.

        The clock was read before it was told, so that the true time is this one or later.
        """
        return self.clock_ms + int((now_s - self.at_s + BEGUN_WITHIN_S) * 1000)


class DeviceCaller:
    """Caller of one other device.

    Args:
        changed: told when another offer came.
    """

    def __init__(
        self,
        seal: DeviceSeal,
        post: Post,
        ledger: DeviceLedger,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = seal.other
        self.greeting: Greeting | None = None
        self.is_away = True
        self._seal = seal
        self._post = post
        self._ledger = ledger
        self._clock = clock
        self._changed = changed
        self._replies: dict[str, asyncio.Queue[DeviceReply]] = {}

    def heard(self, reply: DeviceReply) -> None:
        """Take a reply; one that nobody waits for is dropped."""
        if (waiting := self._replies.get(reply.id)) is not None:
            waiting.put_nowait(reply)

    def hang_up(self) -> None:
        """Let go of the way to the other device."""
        self._post.close()

    async def greet(self) -> Greeting:
        """Return what the other device says of itself now.

        Raises:
            LinkLost: it does not answer.
        """
        request = DeviceRequest(kind=RequestKind.HELLO, id=_new_id())
        reply = await self._soon(request)
        boards = tuple(self._read(reply))
        before, now_s = self.greeting, self._clock.monotonic_s()
        self.greeting = Greeting(
            reply.session, self._book(reply), reply.clock_ms, now_s, boards, reply.has_readings
        )
        if before is None or (before.boards, before.has_readings) != (boards, reply.has_readings):
            self._changed()
        return self.greeting

    async def look(self, tool: str, arguments: str) -> DeviceReply:
        """Return the reply to a call that changes nothing.

        Raises:
            LinkLost: there is none.
        """
        return await self._soon(
            DeviceRequest(kind=RequestKind.LOOK, id=_new_id(), tool=tool, arguments=arguments)
        )

    async def act(self, tool: str, arguments: str, words: str, *, is_relayed: bool) -> DeviceReply:
        """Return the outcome of an act, which the other device begins at most once.

        Raises:
            LinkLost: nothing was done.
            OutcomeUnknown: nobody knows yet; the owner is told when somebody does.
        """
        for _ in range(_TRIES):
            request, book = await self._new_act(tool, arguments, is_relayed=is_relayed)
            reply = await self._acted(request, book, words)
            if reply.outcome is not Outcome.STALE:
                return reply
            self.greeting = None
        raise LinkLost(own("{} starts again and again: nothing was done", configured(self.name)))

    async def run(self, tell: Tell) -> None:
        """Greet, and find out what became of open acts, until cancelled."""
        greeted_s = -GREET_EVERY_S
        while True:
            now_s = self._clock.monotonic_s()
            if self.is_away or now_s - greeted_s >= GREET_EVERY_S:
                with contextlib.suppress(LinkLost):
                    await self.greet()
                    greeted_s = now_s
            try:
                for act in await self._ledger.open(self.name):
                    # The one before took its time: whoever waited for this one may have its answer
                    if act.id not in self._replies and await self._ledger.is_open(act.id):
                        await self._find_out(act, tell)
            except StorageFull as err:
                _log.warning("devices: open acts not looked at (reason=%s)", err)
            await self._clock.sleep(SETTLE_EVERY_S)

    def _read(self, reply: DeviceReply) -> Iterator[KnownBoard]:
        for one in reply.boards:
            try:
                yield KnownBoard(one.name, one.is_there, read_manifest(bytes(one.manifest)))
            except WrongDevice as err:
                # Another version of the agent is at work there; its other boards can be used
                words = "devices: board left out (device=%s, board=%s, reason=%s)"
                _log.warning(words, self.name, one.name, err)

    async def _new_act(
        self, tool: str, arguments: str, *, is_relayed: bool
    ) -> tuple[DeviceRequest, str]:
        known, now_s = self.greeting, self._clock.monotonic_s()
        if known is None or now_s - known.at_s > GREETING_HOLDS_S:
            known = await self.greet()
        request = DeviceRequest(
            kind=RequestKind.ACT,
            id=_new_id(),
            session=known.session,
            until_ms=known.until_ms(self._clock.monotonic_s()),
            tool=tool,
            arguments=arguments,
            is_relayed=is_relayed,
        )
        return request, known.book

    async def _acted(self, request: DeviceRequest, book: str, words: str) -> DeviceReply:
        noted = AskedAct(request.id, self.name, book, self._clock.wall_s(), words)
        with self._waiting(request.id) as replies:
            try:
                await self._ledger.ask(noted)
            except StorageFull as err:
                raise LinkLost(own("it cannot be noted here, so it was not sent")) from err
            crash_point("device act asked")
            reply = await self._final(request, replies)
            if reply is None or self._book(reply) != book:
                why = "it has not answered" if reply is None else "it has lost its records"
                raise OutcomeUnknown(
                    own("outcome unknown at {}: {}", configured(self.name), configured(why))
                )
            await self._close(request.id)
        return reply

    async def _final(
        self, request: DeviceRequest, replies: "asyncio.Queue[DeviceReply]"
    ) -> DeviceReply | None:
        """Say it until there is a result; None where nothing is heard for long."""
        begun_s = heard_s = way_s = self._clock.monotonic_s()
        asking = request
        while True:
            now_s = self._clock.monotonic_s()
            if now_s - heard_s > SILENT_S or now_s - begun_s > ACT_S:
                return None
            if now_s - max(heard_s, way_s) > ANSWER_S:
                # What is at work says so at once: this way may lead nowhere by now
                self._post.close()
                way_s = now_s
            if now_s - begun_s > BEGUN_WITHIN_S:
                # It cannot begin any more: from here on only its outcome is asked for
                asking = DeviceRequest(kind=RequestKind.SETTLE, id=request.id)
            reply = await self._said(asking, replies)
            if reply is not None:
                if reply.outcome.is_final:
                    return reply
                heard_s = self._clock.monotonic_s()

    async def _find_out(self, act: AskedAct, tell: Tell) -> None:
        """Ask what became of an act, and tell the owner."""
        request = DeviceRequest(kind=RequestKind.SETTLE, id=act.id)
        with self._waiting(act.id) as replies:
            reply = await self._said(request, replies)
        is_given_up = self._clock.wall_s() - act.at_s > GIVEN_UP_S
        if reply is not None and not reply.outcome.is_final:
            return
        if reply is None and not is_given_up:
            return
        known = None if reply is None or self._book(reply) != act.book else reply
        await tell(_told(act, known))
        await self._close(act.id)

    def _book(self, reply: DeviceReply) -> str:
        """Return the name of the far ledger, and ours in it.

        What a ledger does not know may have happened where the one that knew it was lost, and where
        we asked under another name.
        """
        return f"{reply.book} of {self._seal.own}"

    async def _close(self, act: str) -> None:
        try:
            await self._ledger.close(act)
        except StorageFull as err:
            # It is asked for once more, and told once more
            _log.warning("devices: told act stays on record (id=%s, reason=%s)", act, err)

    async def _soon(self, request: DeviceRequest) -> DeviceReply:
        end_s = self._clock.monotonic_s() + ANSWER_S
        with self._waiting(request.id) as replies:
            while self._clock.monotonic_s() < end_s:
                if (reply := await self._said(request, replies)) is not None:
                    return reply
        self.is_away = True
        # It may have another address by now, and a connection to the old one says nothing of it
        self._post.close()
        raise LinkLost(own("{} does not answer", configured(self.name)))

    async def _said(
        self, request: DeviceRequest, replies: "asyncio.Queue[DeviceReply]"
    ) -> DeviceReply | None:
        """Say it once; None where no reply comes soon."""
        payload = self._seal.sealed(DeviceMessage(request=request))
        reply: DeviceReply | None = None
        try:
            async with asyncio.timeout(SAY_AGAIN_S):
                try:
                    await self._post.send(payload)
                except ChannelError as err:
                    # The way may be there again in a moment; what was said before may be answered
                    _log.debug("devices: not sent (device=%s, reason=%s)", self.name, err)
                # What is at work tells its result by itself; asked at once again and again, the
                # other device would drop whatever comes of this one
                while reply is None or not reply.outcome.is_final:
                    reply = await replies.get()
        except TimeoutError:
            if reply is None:
                return None
        self.is_away = False
        return reply

    @contextlib.contextmanager
    def _waiting(self, known: str) -> "Iterator[asyncio.Queue[DeviceReply]]":
        replies: asyncio.Queue[DeviceReply] = asyncio.Queue()
        self._replies[known] = replies
        try:
            yield replies
        finally:
            del self._replies[known]


async def tell_of_gone(ledger: DeviceLedger, devices: Collection[str], tell: Tell) -> None:
    """Tell of open acts at devices that are not among these any more: nobody else asks for them."""
    try:
        for act in await ledger.open_elsewhere(devices):
            await tell(_told(act, None))
            await ledger.close(act.id)
    except StorageFull as err:
        # They are still there at the next start
        _log.warning("devices: acts of former devices not looked at (reason=%s)", err)


_ENDS = {
    Outcome.DONE: "it was done",
    Outcome.REFUSED: "it was not done",
    Outcome.NEVER: "it was not done, and will not be",
    Outcome.STALE: "it was not done, and will not be",
    Outcome.FAILED: "it was tried and failed",
}


def _told(act: AskedAct, reply: DeviceReply | None) -> str:
    """Return the sentence on an act whose outcome nobody was told."""
    when = datetime.fromtimestamp(act.at_s).astimezone().strftime("%H:%M on %d %B")
    outcome = None if reply is None else reply.outcome
    ends = _ENDS.get(outcome, "nobody knows whether it was done: look there") if outcome else ""
    ends = ends or "nobody knows whether it was done: look there"
    said = f" ({reply.text[:TOLD_CHARS]})" if reply is not None and reply.text else ""
    return f"{act.device} was to {act.words}, at {when}. No answer came then; now: {ends}{said}."


def _new_id() -> str:
    return secrets.token_hex(_ID_BYTES)
