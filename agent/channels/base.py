"""What every way to a person has in common.

`listen` hands over one message at a time and goes on only when `deliver` returned: by then the
message is committed, so a platform may be told that it was received.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.messages import Inbound, Outbound

Deliver = Callable[[Inbound], Awaitable[None]]


class Answer(enum.Enum):
    """What a person said to a question about one tool call."""

    # This call, once
    YES = "yes"
    # Not this call
    NO = "no"
    # This exact call from now on
    ALWAYS = "always"
    # Nobody could be asked, or nobody answered in time
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a tool acts; `arguments_json` is shown whole or not asked.

    `words` is the tool's own sentence about the call, empty where it has none.
    """

    tool: str
    arguments_json: str
    reason: str
    words: str = ""


class Channel(ABC):
    """A way to a person."""

    name: str = "channel"

    @abstractmethod
    async def listen(self, deliver: Deliver) -> None:
        """Hand every message to `deliver` until cancelled or until nobody can write any more."""

    @abstractmethod
    async def send(self, message: Outbound) -> None:
        """Return when the platform has it; an exception means that it was not sent."""

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        """Show an answer that is still growing; channels that cannot do that ignore it."""

    async def ask(self, inbound: Inbound, question: Question) -> Answer:
        """The person's word on one tool call; a channel that cannot ask says so."""
        return Answer.NONE
