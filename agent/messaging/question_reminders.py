"""Lines that say how an open question is answered, to whoever writes while it is open."""

import asyncio

from agent.access.open_questions import OpenQuestions
from agent.messages import Inbound, Outbound
from agent.messaging.delivery import Delivery

# Whoever writes five messages in a row reads the line once
REMIND_EVERY_S = 15.0
# Questions are open for two minutes, and few people are held by one at a time
MAX_REMEMBERED = 200


class QuestionReminders:
    """Sends the lines; none is kept, because the question is gone before the next start."""

    def __init__(self, delivery: Delivery, questions: OpenQuestions) -> None:
        self._delivery = delivery
        self._questions = questions
        self._told: dict[str, tuple[str, float]] = {}

    def tell_lately(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Say it, unless the same was said there a moment ago."""
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
