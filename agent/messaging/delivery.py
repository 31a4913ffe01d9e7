"""Handing answers to their channels until the platform has them, or giving up in the open.

An answer is in the outbox before it comes here; only a confirmed delivery marks it as sent. What
goes to one place goes one after the other, part by part.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from weakref import WeakValueDictionary

from msgspec.structs import replace

from agent.channels.base import Abilities, Channel
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, StorageFull
from agent.messages import NOT_KEPT, Attachment, Inbound, Outbound
from agent.messaging import inbox, outbox
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState
from agent.security.redact import Redactor
from agent.storage.worker import DatabaseWorker
from agent.system.activity import Activity
from agent.system.clock import Clock
from agent.system.crash_points import crash_point
from agent.system.repeats import RepeatedTrouble

_log = logging.getLogger(__name__)

# A platform that takes longer than this for one message is treated as not reached; files take as
# much longer as their channel says. Each channel gives its own calls up before: what is cut off
# here may have arrived, and comes once more
SEND_TIMEOUT_S = 75.0
# The slowest uplink that a file is sent by: a quarter of a megabit a second
_LEAST_BYTES_PER_S = 32 * 1024
# Tries before an answer becomes a dead letter; a platform that is away refuses nothing
MAX_TRIES = 5
# The agent ends within 20 s, most of them for turns; a platform answers in a fraction of this
SETTLE_S = 5.0
# Wait after the first failure; doubled after each further one, up to a wait that a person bears
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 60.0
# What is not kept waits no longer for a chat: a turn may wait for it
MOST_BUSY_S = 30.0

# More than are sent between a look at the outbox and what is done about it
REMEMBERED_SENT = 256

_Chat = tuple[str, str]
_Place = tuple[str, str, str | None]


class _BusyChats:
    """Chats that a platform asked to be left alone with, whoever was told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._not_before_s: dict[_Chat, float] = {}

    def note(self, part: Outbound, failure: Exception) -> None:
        if isinstance(failure, ChannelUnavailable) and failure.retry_after_s:
            until_s = self._clock.monotonic_s() + failure.retry_after_s
            self._not_before_s[part.channel, part.recipient] = until_s

    async def wait(self, part: Outbound) -> None:
        while left_s := self._left_s(part):
            await self._clock.sleep(left_s)
        self._not_before_s.pop((part.channel, part.recipient), None)

    async def passes(self, part: Outbound) -> bool:
        """Wait where that is not for long; return true if the chat was busy and is not now."""
        if not 0 < self._left_s(part) <= MOST_BUSY_S:
            return False
        await self.wait(part)
        return True

    def _left_s(self, part: Outbound) -> float:
        chat = (part.channel, part.recipient)
        return max(self._not_before_s.get(chat, 0.0) - self._clock.monotonic_s(), 0.0)


class Delivery:
    """Sends what is in the outbox.

    Args:
        redactor: takes the secrets out of a text.
    """

    def __init__(
        self,
        journal: DatabaseWorker,
        channels: Mapping[str, Channel],
        clock: Clock,
        activity: Activity | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._journal = journal
        self._channels = channels
        self.clock = clock
        self._activity = activity or Activity()
        self._redactor = redactor or Redactor()
        # What is being sent: whoever comes meanwhile does not get it twice
        self._under_way: set[int] = set()
        # What was sent lately: whoever has read the outbox before that does not send it again
        self._lately: deque[int] = deque(maxlen=REMEMBERED_SENT)
        # A platform may have taken what is cut off: it is let end and be written down
        self._in_flight: set[asyncio.Task[Exception | None]] = set()
        self._lines: WeakValueDictionary[_Place, asyncio.Lock] = WeakValueDictionary()
        self._busy = _BusyChats(clock)
        self._unread = RepeatedTrouble(_log, clock.monotonic_s)

    def received(self, message: Inbound) -> Inbound:
        """A message as it may be kept: a person may have typed one of the agent's keys."""
        return replace(message, text=self._redactor.redact_known(message.text))

    def redacted(self, text: str) -> str:
        """Return a text as people may have it, without the agent's own secrets."""
        return self._redactor.redact(text)

    async def send(self, answer: Outbound) -> bool:
        """Send an answer; true if the platform has it, false if it is a dead letter or waits.

        It waits for what was handed over before it for the same place.
        """
        outbox_id = answer.outbox_id
        if outbox_id == NOT_KEPT:
            return await self.send_unrecorded(answer)
        if outbox_id in self._under_way or outbox_id in self._lately:
            return False
        if not self.attends(answer):
            _log.info("delivery: waiting (answer=%d, channel=%s)", outbox_id, answer.channel)
            return False
        self._under_way.add(outbox_id)
        return await self._in_line(answer)

    async def answer(
        self, accepted: Accepted, answer: Outbound, state: InboxState = InboxState.ANSWERED
    ) -> bool:
        """Send the answer to a message; true if the platform has it.

        A message whose answer could not be stored is closed when there is room: left open, it would
        be answered, and acted on, once more at the next start. It is where nobody was told.
        """
        arrived = await self.send(answer)
        if arrived and answer.outbox_id == NOT_KEPT and accepted.inbox_id != NOT_KEPT:
            self._journal.later(lambda db: inbox.close_told(db, accepted, state))
        return arrived

    async def catch_up(self, channel: str, recipient: str, tasks: asyncio.TaskGroup) -> None:
        """Send what waited for somebody who has come."""
        for answer in await self._waiting(channel, recipient):
            tasks.create_task(self.send(answer))

    async def make_way(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Send what waited for this message first, on channels that only take answers."""
        channel = self._channels.get(message.channel)
        if channel is None or not channel.abilities.answers_only:
            return
        waiting = await self._waiting(message.channel, message.reply_target)
        late = [one for one in waiting if one.outbox_id not in self._lately]
        await self._send_together(late, tasks)

    async def _waiting(self, channel: str, recipient: str) -> list[Outbound]:
        """Return what waits for them and is not on its way; without room it waits on."""
        try:
            left = await self.left_over()
        except StorageFull as err:
            text = f"delivery: outbox not readable (channel={channel}, error={err})"
            self._unread.met(text, logging.ERROR)
            return []
        theirs = [one for one in left if (one.channel, one.recipient) == (channel, recipient)]
        return [one for one in theirs if one.outbox_id not in self._under_way]

    async def announce(
        self,
        channel: str,
        recipient: str,
        text: str,
        thread: str | None = None,
        files: Sequence[Attachment] = (),
    ) -> Outbound | None:
        """Commit what nobody has asked for, to be sent now or when the channel is there again.

        None when it could not be kept: then there was one try to send it.
        """
        text = self._redactor.redact(text)
        try:
            return await self._journal.transact(
                lambda db: outbox.announce(db, channel, recipient, text, thread, files)
            )
        except StorageFull as err:
            _log.error("delivery: not stored (text=%s, error=%s)", text, err)
            if channel in self._channels:
                await self.send_unrecorded(
                    Outbound(0, channel, recipient, text, "", thread, files=tuple(files))
                )
            return None

    async def send_unrecorded(self, answer: Outbound) -> bool:
        """One try, for what is not kept; where a chat is busy for a moment, another one then."""
        channel = self._channels[answer.channel]
        for part in self._parts(channel, answer):
            failure = await self._try(channel, part)
            if failure is not None and await self._busy.passes(part):
                failure = await self._try(channel, part)
            if failure is not None:
                return False
        return True

    async def settle(self) -> None:
        """At the end: what is on its way arrives and is written down, or is cut off."""
        if self._in_flight:
            _, late = await asyncio.wait(self._in_flight, timeout=SETTLE_S)
            for sending in late:
                sending.cancel()
            if late:
                await asyncio.wait(late)

    async def give_up(self, answer: Outbound) -> None:
        """Make it a dead letter: it stays readable and holds up nobody."""
        try:
            await self._journal.transact(lambda db: outbox.mark_dead(db, answer.outbox_id))
        except StorageFull as err:
            _log.error(
                "delivery: given up until a restart (answer=%d, error=%s)", answer.outbox_id, err
            )

    async def is_dead(self, answer: Outbound) -> bool:
        """Return true if it was given up, as far as that can be read."""
        try:
            return await self._journal.look(lambda db: outbox.is_dead(db, answer.outbox_id))
        except StorageFull:
            return False

    def reaches(self, answer: Outbound) -> bool:
        """Return true if its channel is running."""
        return answer.channel in self._channels

    def abilities(self, channel: str) -> Abilities:
        """Return the abilities of a channel; none where there is no such channel."""
        return self._channels[channel].abilities if channel in self._channels else Abilities()

    def attends(self, answer: Outbound) -> bool:
        """Return true if somebody is there to take it now."""
        channel = self._channels.get(answer.channel)
        return channel is not None and channel.attends(answer)

    async def left_over(self) -> list[Outbound]:
        """Return the unsent answers of an earlier run, for channels that are running."""
        answers = await self._journal.transact(outbox.undelivered)
        return [answer for answer in answers if self.reaches(answer)]

    async def _send_together(self, answers: list[Outbound], tasks: asyncio.TaskGroup) -> None:
        """Send unasked messages in as few as possible, because the platform counts them."""
        # From here on nobody else sends any of them
        ours = {one.outbox_id for one in answers}
        self._under_way |= ours
        try:
            for batch in outbox.batches(answers):
                joined = await self._joined(batch) if len(batch) > 1 else None
                for answer in batch if joined is None else [joined]:
                    tasks.create_task(self._in_line(answer))
                    ours.discard(answer.outbox_id)
        finally:
            self._under_way -= ours

    async def _joined(self, batch: list[Outbound]) -> Outbound | None:
        try:
            joined = await self._journal.transact(lambda db: outbox.join(db, batch))
        except StorageFull as err:
            _log.info("delivery: messages not joined (error=%s)", err)
            return None
        if joined is not None:
            # They have gone with the first
            self._lately.extend(one.outbox_id for one in batch[1:])
        return joined

    async def _in_line(self, answer: Outbound) -> bool:
        """After what was handed over before it for the same place; nobody else is sending it."""
        place = (answer.channel, answer.recipient, answer.thread)
        line = self._lines.setdefault(place, asyncio.Lock())
        try:
            async with line:
                return await self._send(answer)
        finally:
            self._under_way.discard(answer.outbox_id)

    def _parts(self, channel: Channel, answer: Outbound) -> list[Outbound]:
        """Those that are not with the platform yet; no secret is cut in two before it is seen."""
        texts = channel.parts(self._redactor.redact(answer.text)) or ("",)
        parts = [replace(answer, text=text, part=at, files=()) for at, text in enumerate(texts)]
        parts[-1] = replace(parts[-1], files=answer.files)
        # A part is recorded when it is sent. Where an update makes fewer, the last comes once more
        left = parts[min(answer.part, len(parts) - 1) :]
        return [*left[:1], *(replace(part, was_left=False) for part in left[1:])]

    async def _send(self, answer: Outbound) -> bool:
        channel = self._channels[answer.channel]
        parts = self._parts(channel, answer)
        for part in parts:
            if not await self._insist(channel, part, is_last=part is parts[-1]):
                return False
        return True

    async def _insist(self, channel: Channel, part: Outbound, *, is_last: bool) -> bool:
        """Try until the platform has it, or until it is given up or nobody is there."""
        wait_s, tries = FIRST_WAIT_S, 0
        while True:
            await self._busy.wait(part)
            if not channel.attends(part):
                return False
            sending = asyncio.ensure_future(self._try_and_note(channel, part, is_last=is_last))
            self._in_flight.add(sending)
            sending.add_done_callback(self._in_flight.discard)
            failure = await asyncio.shield(sending)
            if failure is None:
                return True
            if not channel.attends(part):
                # They have left, which is no fault of the message's
                return False
            if not isinstance(failure, ChannelUnavailable | ChannelRefused):
                tries = await self._count_failure(part, tries)
            if tries >= MAX_TRIES or isinstance(failure, MessageRefused):
                _log.error(
                    "delivery: refused, kept as dead letter (answer=%d, tries=%d)",
                    part.outbox_id,
                    tries,
                )
                await self.give_up(part)
                return False
            await self.clock.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    async def _try_and_note(
        self, channel: Channel, part: Outbound, *, is_last: bool
    ) -> Exception | None:
        """Send a part and record it; return the error if the platform did not take it."""
        failure = await self._try(channel, part)
        if failure is not None:
            return failure
        crash_point("delivery.part_sent")
        outbox_id = part.outbox_id
        if is_last:
            # It has arrived; that it is sent once more after a power cut is the lesser evil
            self._lately.append(outbox_id)
            self._journal.later(lambda db: outbox.mark_sent(db, outbox_id))
            crash_point("delivery.sent")
        else:
            await self._note_part(outbox_id, part.part + 1)
        return None

    async def _try(self, channel: Channel, part: Outbound) -> Exception | None:
        """Send a part; return the error if the platform did not take it."""
        limit_s = _limit_s(part, channel.abilities)
        try:
            async with asyncio.timeout(limit_s):
                await channel.send(part)
        except Exception as failed:  # noqa: BLE001 - the channel supervisor: no platform ends the agent
            err = _named(failed, limit_s)
            _log.warning("delivery: not taken (channel=%s, error=%r)", part.channel, err)
            # Where somebody has to write first it is no fault of the platform's
            self._activity.note_channel(part.channel, is_deaf=channel.attends(part))
            self._busy.note(part, err)
            return err
        self._activity.note_channel(part.channel, is_deaf=False)
        return None

    async def _note_part(self, outbox_id: int, parts_sent: int) -> None:
        """A restart goes on with the next part."""
        try:
            await self._journal.transact(lambda db: outbox.note_part(db, outbox_id, parts_sent))
        except StorageFull as err:
            _log.error("delivery: parts may be sent twice (answer=%d, error=%s)", outbox_id, err)
        crash_point("delivery.part_recorded")

    async def _count_failure(self, part: Outbound, tries: int) -> int:
        """Count a failure and return the number so far, over restarts too."""
        try:
            return await self._journal.transact(lambda db: outbox.note_failure(db, part.outbox_id))
        except StorageFull:
            return tries + 1


def _named(failed: Exception, limit_s: float) -> Exception:
    """Return the error; that of a platform that did not answer in time names it as away."""
    is_slow = isinstance(failed, TimeoutError)
    return ChannelUnavailable(f"no answer within {limit_s:.0f} s") if is_slow else failed


def _limit_s(part: Outbound, able: Abilities) -> float:
    """Return how long a part may be on its way, with its files where they may take longer."""
    size_bytes = sum(file.size_bytes for file in part.files) if able.upload_s else 0
    upload_s = len(part.files) * able.upload_s + size_bytes / _LEAST_BYTES_PER_S
    return SEND_TIMEOUT_S + able.send_s + upload_s
