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
from agent.messages import Attachment, Outbound

_log = logging.getLogger(__name__)

# Messages whose first steps were done when a later one failed
MAX_UNFINISHED = 100
_MB = 1024 * 1024
# The number of what the outbox does not keep, such as a question
_NOT_KEPT = 0


class DeliverySteps:
    """Progress of messages that are partly sent."""

    def __init__(self) -> None:
        # By message and part, how many steps are done
        self._done: OrderedDict[tuple[int, int], int] = OrderedDict()

    async def go_on(
        self,
        message: Outbound,
        say: Callable[[Outbound], Awaitable[None]],
        give: Callable[[Outbound, Attachment], Awaitable[None]],
    ) -> None:
        """Do the remaining steps; an error of `say` or `give` stops until the next try."""
        done = self._done.get(_key(message), 0)
        if done == 0:
            if message.text.strip():
                await say(message)
            self._note(message, 1)
        for step, file in enumerate(message.files, start=1):
            if done <= step:
                try:
                    await give(message, file)
                except MessageRefused as err:
                    # Such as where a group lets nobody send files: the words before promised it
                    _log.warning("channels: file refused (reason=%s)", err)
                    named = file.name or "The file"
                    text = f"({named} was to come with this and cannot be sent here: {err}.)"
                    # A part of its own: platforms take the same part again for the same message
                    await say(replace(message, text=text, files=(), part=message.part + step))
                self._note(message, step + 1)
        self._done.pop(_key(message), None)

    def _note(self, message: Outbound, steps: int) -> None:
        if message.outbox_id == _NOT_KEPT:
            # All of these have one number: the next of them would be taken for this one
            return
        self._done[_key(message)] = steps
        if len(self._done) > MAX_UNFINISHED:
            self._done.popitem(last=False)


def _key(message: Outbound) -> tuple[int, int]:
    return message.outbox_id, message.part


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
