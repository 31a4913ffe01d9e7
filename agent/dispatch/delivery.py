"""Handing answers to their channels until the platform has them, or giving up in the open.

An answer is in the outbox before it comes here; only a confirmed delivery marks it as sent. What
goes to one place goes one after the other, part by part.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from weakref import WeakValueDictionary

from agent.channels.base import Channel
from agent.clock import Clock
from agent.crash import crash_point
from agent.dispatch import outbox
from agent.dispatch.activity import Activity
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, StorageFull
from agent.messages import Inbound, Outbound
from agent.security.redact import Redactor
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

# A platform that takes longer than this for one message is treated as not reached; files take as
# much longer as their channel says
SEND_TIMEOUT_S = 30.0
# Tries before an answer becomes a dead letter; a platform that is away refuses nothing
MAX_TRIES = 5
# The agent ends within 20 s, most of them for turns; a platform answers in a fraction of this
SETTLE_S = 5.0
# Wait after the first failure; doubled after each further one, up to a wait that a person bears
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 60.0

# More than are sent between a look at the outbox and what is done about it
REMEMBERED_SENT = 256

_Chat = tuple[str, str]
_Place = tuple[str, str, str | None]


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
        # Until when a platform wants nothing for a chat
        self._not_before_s: dict[_Chat, float] = {}

    def received(self, inbound: Inbound) -> Inbound:
        """A message as it may be kept: a person may have typed one of the agent's keys."""
        return replace(inbound, text=self._redactor.redact_known(inbound.text))

    async def send(self, message: Outbound) -> bool:
        """Whether the platform has it; else it is a dead letter now, or waits for somebody.

        It waits for what was handed over before it for the same place.
        """
        outbox_id = message.outbox_id
        if outbox_id == outbox.NOT_KEPT:
            return await self.send_unrecorded(message)
        if outbox_id in self._under_way or outbox_id in self._lately:
            return False
        if not self.attends(message):
            _log.info("answer %d waits until %s takes it", outbox_id, message.channel)
            return False
        self._under_way.add(outbox_id)
        return await self._in_line(message)

    async def catch_up(self, channel: str, recipient: str, tasks: asyncio.TaskGroup) -> None:
        """Send what waited for somebody who has come."""
        for message in await self.left_over():
            is_theirs = (message.channel, message.recipient) == (channel, recipient)
            if is_theirs and message.outbox_id not in self._under_way:
                tasks.create_task(self.send(message))

    async def make_way(self, inbound: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Where only answers may go: what has waited for this word goes before what answers it."""
        channel = self._channels.get(inbound.channel)
        if channel is None or not channel.abilities.answers_only:
            return
        try:
            waiting = [
                one
                for one in await self.left_over()
                if (one.channel, one.recipient) == (inbound.channel, inbound.reply_target)
                and one.outbox_id not in self._under_way
                and one.outbox_id not in self._lately
            ]
            await self._send_together(waiting, tasks)
        except StorageFull as err:
            _log.error("what waits for %s is not known now: %s", inbound.channel, err)

    async def announce(
        self, channel: str, recipient: str, text: str, thread: str | None = None
    ) -> Outbound | None:
        """Commit what nobody has asked for, to be sent now or when the channel is there again.

        None when it could not be kept: then there was one try to send it.
        """
        text = self._redactor.redact(text)
        try:
            return await self._journal.transact(
                lambda db: outbox.announce(db, channel, recipient, text, thread)
            )
        except StorageFull as err:
            _log.error("not kept: %s (%s)", text, err)
            if channel in self._channels:
                await self.send_unrecorded(Outbound(0, channel, recipient, text, "", thread))
            return None

    async def send_unrecorded(self, message: Outbound) -> bool:
        """One try, for what cannot be kept because the storage is full."""
        channel = self._channels[message.channel]
        for part in self._parts(channel, message):
            if await self._try(channel, part) is not None:
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

    async def give_up(self, message: Outbound) -> None:
        """Make it a dead letter: it stays readable and holds up nobody."""
        try:
            await self._journal.transact(lambda db: outbox.mark_dead(db, message.outbox_id))
        except StorageFull as err:
            _log.error("answer %d is given up until a restart: %s", message.outbox_id, err)

    def reaches(self, message: Outbound) -> bool:
        """Whether its channel is here."""
        return message.channel in self._channels

    def attends(self, message: Outbound) -> bool:
        """Whether somebody is there to take it now."""
        channel = self._channels.get(message.channel)
        return channel is not None and channel.attends(message)

    async def left_over(self) -> list[Outbound]:
        """What an earlier run committed and did not send, for channels that are here."""
        messages = await self._journal.transact(outbox.undelivered)
        return [message for message in messages if self.reaches(message)]

    async def _send_together(self, messages: list[Outbound], tasks: asyncio.TaskGroup) -> None:
        """What answers nothing in as few messages as it takes, for they are counted."""
        # From here on nobody else sends any of them
        ours = {one.outbox_id for one in messages}
        self._under_way |= ours
        try:
            for batch in outbox.batches(messages):
                joined = await self._joined(batch) if len(batch) > 1 else None
                for message in batch if joined is None else [joined]:
                    tasks.create_task(self._in_line(message))
                    ours.discard(message.outbox_id)
        finally:
            self._under_way -= ours

    async def _joined(self, batch: list[Outbound]) -> Outbound | None:
        try:
            joined = await self._journal.transact(lambda db: outbox.join(db, batch))
        except StorageFull as err:
            _log.info("each is sent by itself: %s", err)
            return None
        if joined is not None:
            # They have gone with the first
            self._lately.extend(one.outbox_id for one in batch[1:])
        return joined

    async def _in_line(self, message: Outbound) -> bool:
        """After what was handed over before it for the same place; nobody else is sending it."""
        place = (message.channel, message.recipient, message.thread)
        line = self._lines.setdefault(place, asyncio.Lock())
        try:
            async with line:
                return await self._send(message)
        finally:
            self._under_way.discard(message.outbox_id)

    def _parts(self, channel: Channel, message: Outbound) -> list[Outbound]:
        """Those that are not with the platform yet; no secret is cut in two before it is seen."""
        texts = channel.parts(self._redactor.redact(message.text)) or ("",)
        parts = [replace(message, text=text, part=at, files=()) for at, text in enumerate(texts)]
        parts[-1] = replace(parts[-1], files=message.files)
        # A part is recorded when it is sent, so that only the next one may be there
        left = parts[message.part :]
        return [*left[:1], *(replace(part, was_left=False) for part in left[1:])]

    async def _send(self, message: Outbound) -> bool:
        channel = self._channels[message.channel]
        parts = self._parts(channel, message)
        for part in parts:
            if not await self._insist(channel, part, is_last=part is parts[-1]):
                return False
        return True

    async def _insist(self, channel: Channel, part: Outbound, *, is_last: bool) -> bool:
        """Try until the platform has it, or until it is given up or nobody is there."""
        wait_s, tries = FIRST_WAIT_S, 0
        while True:
            await self._wait_for_chat(part)
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
                _log.error("answer %d was refused %d times; kept", part.outbox_id, tries)
                await self.give_up(part)
                return False
            await self.clock.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    async def _try_and_note(
        self, channel: Channel, part: Outbound, *, is_last: bool
    ) -> Exception | None:
        """Why the platform did not take it; that it did is written down in the same breath."""
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
        """Why the platform did not take it."""
        limit_s = SEND_TIMEOUT_S + len(part.files) * channel.abilities.upload_s
        try:
            async with asyncio.timeout(limit_s):
                await channel.send(part)
        except Exception as err:  # noqa: BLE001 - the channel supervisor: no platform ends the agent
            _log.warning("%s did not take an answer: %r", part.channel, err)
            # Where somebody has to write first it is no fault of the platform's
            self._activity.note_channel(part.channel, is_deaf=channel.attends(part))
            if isinstance(err, ChannelUnavailable) and err.retry_after_s:
                until_s = self.clock.monotonic_s() + err.retry_after_s
                self._not_before_s[part.channel, part.recipient] = until_s
            return err
        self._activity.note_channel(part.channel, is_deaf=False)
        return None

    async def _wait_for_chat(self, part: Outbound) -> None:
        """As long as the platform asked to be left alone with this chat, whoever was told."""
        chat = (part.channel, part.recipient)
        while (left_s := self._not_before_s.get(chat, 0.0) - self.clock.monotonic_s()) > 0:
            await self.clock.sleep(left_s)
        self._not_before_s.pop(chat, None)

    async def _note_part(self, outbox_id: int, parts_sent: int) -> None:
        """A restart goes on with the next part."""
        try:
            await self._journal.transact(lambda db: outbox.note_part(db, outbox_id, parts_sent))
        except StorageFull as err:
            _log.error("answer %d may be sent in part again: %s", outbox_id, err)
        crash_point("delivery.part_recorded")

    async def _count_failure(self, part: Outbound, tries: int) -> int:
        """How often it has failed now, over restarts too."""
        try:
            return await self._journal.transact(lambda db: outbox.note_failure(db, part.outbox_id))
        except StorageFull:
            return tries + 1
