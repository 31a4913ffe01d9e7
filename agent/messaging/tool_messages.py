"""Messages that tools send: into the outbox first, and from there to the channel.

Made before there are channels; open for as long as the agent is at work with them.
"""

import asyncio

from agent.errors import StorageFull
from agent.messaging.delivery import Delivery
from agent.tools.send_message import Addressee

_NOT_KEPT = "the message could not be stored, so it may not arrive; do not repeat it"


class ToolMessages:
    """Sends messages that answer nothing."""

    def __init__(self) -> None:
        self._delivery: Delivery | None = None
        self._tasks: asyncio.TaskGroup | None = None

    def open(self, delivery: Delivery, tasks: asyncio.TaskGroup) -> None:
        self._delivery, self._tasks = delivery, tasks

    async def __call__(self, to: Addressee, text: str) -> bool:
        """Queue a message; true if it is on its way.

        Raises:
            StorageFull: it could not be kept.
        """
        if self._delivery is None or self._tasks is None:
            raise StorageFull("no channel is running yet")
        message = await self._delivery.announce(to.channel, to.target, text)
        if message is None:
            raise StorageFull(_NOT_KEPT)
        if not self._delivery.attends(message):
            return False
        self._tasks.create_task(self._delivery.send(message))
        return True
