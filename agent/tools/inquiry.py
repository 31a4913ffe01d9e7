"""A question in words to the person whom the turn is for, as a tool sees it."""

from dataclasses import dataclass
from typing import Protocol

from agent.messages import Provenance


@dataclass(frozen=True, slots=True)
class Heard:
    """What the person said, and how far that is trusted."""

    text: str
    provenance: Provenance


class Inquire(Protocol):
    """Puts a question into the conversation and waits for what is said next."""

    async def __call__(self, question: str) -> Heard:
        """Waits until cancelled.

        Raises:
            ChannelError: nobody can be asked, or it could not be sent.
        """
