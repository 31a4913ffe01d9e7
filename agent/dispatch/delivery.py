"""Handing answers to their channels until the platform has them, or giving up in the open.

An answer is in the outbox before it comes here; only a confirmed delivery marks it as sent.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace

from agent.channels.base import Channel
from agent.clock import Clock
from agent.dispatch import outbox
from agent.dispatch.activity import Activity
from agent.errors import StorageFull
from agent.messages import Inbound, Outbound
from agent.security.redact import Redactor
from agent.storage.worker import DatabaseWorker

_log = logging.getLogger(__name__)

# A platform that takes longer than this for one message is treated as not reached
SEND_TIMEOUT_S = 30.0
# Tries before an answer becomes a dead letter
MAX_TRIES = 5
# Wait after the first failure; doubled after each further one
FIRST_WAIT_S = 1.0


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
        self._clock = clock
        self._activity = activity or Activity()
        self._redactor = redactor or Redactor()
        # What is being sent: whoever comes meanwhile does not get it twice
        self._under_way: set[int] = set()

    def received(self, inbound: Inbound) -> Inbound:
        """A message as it may be kept: a person may have typed one of the agent's keys."""
        return replace(inbound, text=self._redactor.redact_known(inbound.text))

    async def send(self, message: Outbound) -> bool:
        """Whether the platform has it; else it is a dead letter now, or waits for somebody."""
        if message.outbox_id in self._under_way or not self.attends(message):
            return False
        self._under_way.add(message.outbox_id)
        try:
            return await self._send(message)
        finally:
            self._under_way.discard(message.outbox_id)

    async def catch_up(self, channel: str, recipient: str, tasks: asyncio.TaskGroup) -> None:
        """Send what waited for somebody who has come."""
        for message in await self.left_over():
            is_theirs = (message.channel, message.recipient) == (channel, recipient)
            if is_theirs and message.outbox_id not in self._under_way:
                tasks.create_task(self.send(message))

    async def _send(self, message: Outbound) -> bool:
        channel = self._channels[message.channel]
        wait_s = FIRST_WAIT_S
        while not await self._try(channel, message):
            if not channel.attends(message):
                # They have left, which is no fault of the message's
                return False
            tries = await self._journal.transact(
                lambda db: outbox.note_failure(db, message.outbox_id)
            )
            if tries >= MAX_TRIES:
                _log.error("answer %d was refused %d times; kept", message.outbox_id, tries)
                await self.give_up(message)
                return False
            await self._clock.sleep(wait_s)
            wait_s *= 2
        try:
            await self._journal.transact(lambda db: outbox.mark_sent(db, message.outbox_id))
        except StorageFull as err:
            # It has arrived; that it is sent once more after a restart is the lesser evil
            _log.error("answer %d is not marked as sent: %s", message.outbox_id, err)
        return True

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
        return await self._try(self._channels[message.channel], message)

    async def give_up(self, message: Outbound) -> None:
        """Make it a dead letter: it stays readable and holds up nobody."""
        await self._journal.transact(lambda db: outbox.mark_dead(db, message.outbox_id))

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

    async def _try(self, channel: Channel, message: Outbound) -> bool:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                # The last exit, whoever wrote the text
                await channel.send(replace(message, text=self._redactor.redact(message.text)))
        except Exception as err:  # noqa: BLE001 - the channel supervisor: no platform ends the agent
            _log.warning("%s did not take an answer: %r", message.channel, err)
            self._activity.note_channel(message.channel, is_deaf=True)
            return False
        self._activity.note_channel(message.channel, is_deaf=False)
        return True
