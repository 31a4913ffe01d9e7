"""Reminders of how to answer an open question, for people who write meanwhile."""

import asyncio

from agent.access.open_questions import OpenQuestions
from agent.messages import Inbound, Outbound
from agent.messaging.delivery import Delivery

# One reminder for several messages in a row
REMIND_EVERY_S = 15.0
# Questions are open for two minutes, and few people are held by one at a time
MAX_REMEMBERED = 200


class QuestionReminders:
    """Sends reminders; none is stored, because no question outlives a restart."""

    def __init__(self, delivery: Delivery, questions: OpenQuestions) -> None:
        self._delivery = delivery
        self._questions = questions
        self._told: dict[str, tuple[str, float]] = {}

    def tell_lately(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Send the reminder unless the same one was sent there a moment ago."""
        line = self._questions.instruction(message)
        earlier, at_s = self._told.get(message.conversation, ("", 0.0))
        if line != earlier or self._delivery.clock.monotonic_s() - at_s >= REMIND_EVERY_S:
            self.tell(message, tasks)

    def tell(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        line = self._questions.instruction(message)
        if len(self._told) >= MAX_REMEMBERED:
            self._told.clear()
        self._told[message.conversation] = line, self._delivery.clock.monotonic_s()
        told = Outbound(
            0, message.channel, message.reply_target, line, message.answers, message.thread
        )
        tasks.create_task(self._delivery.send_unrecorded(told))
