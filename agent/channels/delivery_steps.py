"""Delivery of a message in steps, text then files, each step once.

What was done of it is remembered until all of it is: a file that fails does not repeat the text.
A file that is refused for good is told in words, and those after it go. What the outbox does not
keep is tried once, and nothing of it is remembered.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from agent.errors import MessageRefused
from agent.messages import NOT_KEPT, Attachment, Outbound

_log = logging.getLogger(__name__)

# Messages whose first steps were done when a later one failed
MAX_UNFINISHED = 100
_MB = 1024 * 1024


class DoneSteps:
    """Number of steps that were done of each message."""

    def __init__(self) -> None:
        # By message and part
        self._done: OrderedDict[tuple[int, int], int] = OrderedDict()

    def of(self, message: Outbound) -> int:
        return self._done.get((message.outbox_id, message.part), 0)

    def note(self, message: Outbound, steps: int) -> None:
        # All of those that are not kept have one number, and are tried once
        if message.outbox_id != NOT_KEPT:
            self._done[message.outbox_id, message.part] = steps
        if len(self._done) > MAX_UNFINISHED:
            self._done.popitem(last=False)

    def forget(self, message: Outbound) -> None:
        self._done.pop((message.outbox_id, message.part), None)


class DeliverySteps:
    """Progress of messages that are partly sent."""

    def __init__(self) -> None:
        self._done = DoneSteps()

    async def go_on(
        self,
        message: Outbound,
        say: Callable[[Outbound], Awaitable[None]],
        give: Callable[[Outbound, Attachment], Awaitable[None]],
    ) -> None:
        """Do the remaining steps; an error of `say` or `give` stops until the next try."""
        done = self._done.of(message)
        if done == 0:
            if message.text.strip():
                await say(message)
            self._done.note(message, 1)
        for step, file in enumerate(message.files, start=1):
            if done <= step:
                try:
                    await give(message, file)
                except MessageRefused as err:
                    # Such as where a group lets nobody send files
                    # A part of its own: platforms take the same part again for the same message
                    part = message.part + step
                    await say(replace(message, text=refused(file, err), files=(), part=part))
                self._done.note(message, step + 1)
        self._done.forget(message)


def refused(file: Attachment, err: MessageRefused) -> str:
    """Return the words in the place of a file, which the words before it promised."""
    _log.warning("channels: file refused (reason=%s)", err)
    return f"({file.name or 'The file'} was to come with this and cannot be sent here: {err}.)"


def unsendable(file: Attachment, most_bytes: int, that: str) -> str:
    """Return why a file cannot be sent, for its receiver; empty if it can.

    Args:
        that: goes on after "larger than the 50 MB that".
    """
    name = file.name or "The file"
    try:
        size = Path(file.path).stat().st_size
    except OSError:
        return f"({name} was to come with this, and is not there any more.)"
    if size > most_bytes:
        return f"({name} is larger than the {most_bytes // _MB} MB that {that}.)"
    return "" if size else f"({name} was to come with this, and is empty.)"
