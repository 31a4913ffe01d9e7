"""Parts of the agent that answer a message."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agent.access.audience import audience_of
from agent.memory.base import Memory
from agent.messages import Inbound
from agent.passage import Passage
from agent.security.access import Audience
from agent.security.shares import NOTHING_SHARED, Shares
from agent.storage.worker import DatabaseWorker
from agent.system.activity import Activity
from agent.system.clock import Clock
from agent.tools.registry import Registry
from agent.turn.hooks import OwnerHooks
from agent.turn.model_choice import ModelChoices
from agent.turn.turn import TurnRunner

if TYPE_CHECKING:
    from agent.turn.learner import Learner


def _learns_nothing() -> "Learner":
    from agent.turn.learner import NoLearner  # noqa: PLC0415 - the first answer needs it

    return NoLearner()


async def _no_jobs(_person: str) -> str:
    return "There are no jobs."


class ConversationParts(Struct, frozen=True):
    """Parts that answer a message."""

    journal: DatabaseWorker
    memory: Memory
    registry: Registry
    runner: TurnRunner
    clock: Clock
    offer: ModelChoices
    activity: Activity = field(default_factory=Activity)
    # A person's jobs in words
    jobs_of: Callable[[str], Awaitable[str]] = _no_jobs
    # Sections of the prompt that the owner wrote; reads the disk
    briefing: Callable[[], tuple[Passage, ...]] = tuple
    hooks: OwnerHooks = field(default_factory=OwnerHooks)
    # What hurts the machine, in sentences; mostly nothing
    machine: Callable[[], Sequence[Passage]] = tuple
    # Who reads the answer to a message
    audience_of: Callable[[Inbound], Audience] = audience_of
    shares: Shares = NOTHING_SHARED
    # Is told of each answer that was committed
    answered: Callable[[], None] = lambda: None
    # What learns from finished turns
    open_learner: "Callable[[], Learner]" = _learns_nothing
