"""Seams of a turn: its connections to the person, the channel and the owner's hooks."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.base import Abilities
from agent.messages import ToolCall
from agent.passage import Provenance
from agent.security.redact import Redactor
from agent.turn.execution import BeforeEffect
from agent.turn.hooks import OwnerHooks

if TYPE_CHECKING:
    from agent.approvals.questions import Ask
    from agent.tools.inquiry import Inquiry

# Announces a call that is going to run
Notice = Callable[[ToolCall, Redactor], Awaitable[None]]
OnText = Callable[[str, Provenance, bool], Awaitable[None]]


class TurnSeams(Struct, frozen=True):
    """Connections of a turn to the outside.

    Args:
        ask: puts a question to the person.
        on_text: gets the text so far whenever it grows, its trust, and whether tools were used.
        before_effect: is awaited before anything that changes the world.
        inquire: asks the person something in words; None where nobody is there.
        abilities: of the channel that the answer goes to.
        hooks: the owner's, around every call of a tool.
        notice: is told of each call that is going to run; None where nobody wants to know.
        muse: is told what the model thought before an answer; as above.
    """

    ask: "Ask"
    on_text: OnText
    before_effect: BeforeEffect
    inquire: "Inquiry | None" = None
    abilities: Abilities = Abilities()
    hooks: OwnerHooks = OwnerHooks()
    notice: Notice | None = None
    muse: Callable[[str, Redactor], Awaitable[None]] | None = None
