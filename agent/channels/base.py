"""What every way to a person has in common.

`listen` hands over one message at a time and goes on only when `deliver` returned: by then the
message is committed, so a platform may be told that it was received.
"""

import enum
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent.messages import Inbound, Outbound

Deliver = Callable[[Inbound], Awaitable[None]]

# A million possibilities, for two minutes, of which each question takes one
QUESTION_ID_CHARS = 4
# Nothing that is taken for something else
_EASILY_TYPED = "abcdefghjkmnpqrstuvwxyz23456789"


class Answer(enum.Enum):
    """What a person said to a question about one tool call."""

    # This call, once
    YES = "yes"
    # Not this call
    NO = "no"
    # Every call of the narrow kind that the question named, for a while
    ALWAYS = "always"
    # Nobody could be asked, or nobody answered in time
    NONE = "none"


def new_question_id() -> str:
    """Short enough to be typed; nobody guesses it in the time that a question stays open."""
    return "".join(secrets.choice(_EASILY_TYPED) for _ in range(QUESTION_ID_CHARS))


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a tool acts; `arguments_json` is shown whole or not asked.

    Args:
        words: the tool's own sentence about the call, empty where it has none.
        always: what "always" would stand for, in words; empty where only yes and no are answers.
        question_id: a yes counts only from whoever was asked, where they were asked, to this.
    """

    tool: str
    arguments_json: str
    reason: str
    words: str = ""
    always: str = ""
    question_id: str = field(default_factory=new_question_id)


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
