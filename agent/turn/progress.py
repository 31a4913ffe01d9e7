"""Progress of a turn: what was read so far, how far it is trusted, and what it added."""

import math
import secrets
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from agent.messages import ChatMessage
from agent.passage import Passage, Provenance
from agent.tools.base import ToolContext
from agent.turn.execution import lowered

if TYPE_CHECKING:
    from agent.providers.base import ChatResponse
    from agent.tools.inquiry import Inquiry, InquiryAnswer
    from agent.turn.guidance import Guidance


class TurnScope(Struct, frozen=True):
    """Identity of a turn, shared with the turns of other agents within it.

    Args:
        turn: what the audit and the limits know it by.
        depth: how many agents have asked one another.
        orders: who was asked so far, at any depth.
        ends_s: when it is given up, by the time of the loop.
    """

    turn: str = field(default_factory=partial(secrets.token_hex, 6))
    depth: int = 0
    orders: list[str] = field(default_factory=list)
    ends_s: float = math.inf

    def deeper(self, ends_s: float) -> "TurnScope":
        return replace(self, depth=self.depth + 1, ends_s=ends_s)


class TurnProgress(Struct):
    """State of a running turn.

    Args:
        whole: trust of everything before the model, earlier turns and memories included.
        fresh: trust of the person's message and of what was read since.
        is_fresh: no response so far has heeded more than that.
        plain: trust without the recalled memories; None where there are none, or once it is used.
        checked: the turn and the act that this turn checks without memories; None if it does not.
    """

    messages: tuple[ChatMessage, ...]
    whole: ToolContext
    fresh: ToolContext
    guidance: "Guidance"
    model: str | None = None
    within: TurnScope = field(default_factory=TurnScope)
    is_fresh: bool = True
    was_too_long: bool = False
    is_by_model: bool = True
    is_reply: bool = False
    speaker: str = ""
    added: list[ChatMessage] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    plain: ToolContext | None = None
    checked: "tuple[TurnProgress, ChatResponse] | None" = None

    @property
    def said(self) -> tuple[ChatMessage, ...]:
        """Return everything that the model is shown next."""
        return (*self.messages, *self.added, *self.guidance.aside)

    @property
    def is_recalled(self) -> bool:
        """True if memories below the owner's trust are among it."""
        return any(message.is_recalled for message in self.messages)

    def hearing(self, inquire: "Inquiry") -> "Inquiry":
        """Return the way to the person's words; spoken ones count for what follows in the turn."""

        async def heard(question: str, trust: Provenance = Provenance.MODEL) -> "InquiryAnswer":
            answer = await inquire(question, trust)
            if answer.is_spoken:
                self.fresh = replace(self.fresh, is_spoken=True)
                self.whole = replace(self.whole, is_spoken=True)
                self.plain = self.plain and replace(self.plain, is_spoken=True)
            return answer

        return heard

    def read(self, words: Passage, *, held: bool = False) -> None:
        """The model is shown these in this turn.

        Args:
            held: they are not everybody's.
        """
        if held:
            self.fresh = replace(self.fresh, holds_private=True)
            self.whole = replace(self.whole, holds_private=True)
        self.fresh = lowered(self.fresh, words)
        self.whole = lowered(self.whole, words)
