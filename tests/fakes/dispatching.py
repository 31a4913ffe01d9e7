"""A dispatcher with a journal on disk and everything else of a test's choosing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agent.access.admission import Admitted
from agent.access.audience import audience_of
from agent.access.owner_contact import OwnerContact
from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.app.phrase_learner import PhraseLearner
from agent.approvals.gate import Gate
from agent.channels.base import Channel
from agent.hardware.estop import EstopControl
from agent.memory.base import Memory
from agent.memory.settings import MemorySettings
from agent.messages import Address, ChatMessage, Inbound, Role
from agent.messaging import inbox, outbox
from agent.messaging.conversation import Conversations
from agent.messaging.conversation_parts import ConversationParts
from agent.messaging.delivery import Delivery
from agent.messaging.dispatcher import Dispatcher
from agent.messaging.journal import open_agent_db
from agent.messaging.worker import Desk
from agent.passage import Passage
from agent.providers.base import ChatRequest, Provider
from agent.security.access import Audience
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.redact import Redactor
from agent.security.shares import NOTHING_SHARED, Shares
from agent.storage.phrases import Phrases
from agent.storage.worker import DatabaseWorker
from agent.system.activity import Activity
from agent.tools.base import AnyTool
from agent.tools.registry import Registry
from agent.turn.hooks import OwnerHooks
from agent.turn.learner import NoLearner
from agent.turn.model_choice import ModelChoices
from agent.turn.settings import AgentSettings
from agent.turn.turn import TurnRunner
from tests.fakes.channel import message
from tests.fakes.clock import StandingClock, SteppedClock
from tests.fakes.memory import PreparedMemory
from tests.fakes.said import words

OFFER = ModelChoices("fakes", "usual", {"fast": "groq:tiny"}, ("groq:large",))


@dataclass(frozen=True)
class Around:
    """What may stand around the turns."""

    hooks: OwnerHooks = field(default_factory=OwnerHooks)
    phrases: Phrases | None = None

    def parts(
        self,
        *seams: Any,
        machine: Callable[[], Sequence[Passage]],
        audience_of: Callable[[Inbound], Audience],
        shares: Shares,
    ) -> ConversationParts:
        registry = next(seam for seam in seams if isinstance(seam, Registry))
        known = self.phrases
        learner = (lambda: PhraseLearner(known, registry, Redactor())) if known else NoLearner
        return ConversationParts(
            *seams,
            hooks=self.hooks,
            machine=machine,
            open_learner=learner,
            audience_of=audience_of,
            shares=shares,
        )


class Running:
    """A dispatcher at work, and how a test speaks to it."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        tasks: asyncio.TaskGroup,
        journal: DatabaseWorker,
        oversight: EstopControl,
        folder: Path,
        clock: SteppedClock,
    ):
        self.clock = clock
        self.dispatcher = dispatcher
        self.oversight = oversight
        self.tasks = tasks
        self.journal = journal
        self.folder = folder
        # What is wrong with the machine
        self.hurts: list[str] = []

    async def say(self, text: str, message_id: str = "1", sender: str = "owner") -> None:
        await self.dispatcher.deliver(message(text, message_id, sender), self.tasks)

    async def is_idle(self) -> bool:
        """Return whether every message is answered, and every answer sent."""
        open_ones = await self.journal.transact(inbox.unanswered)
        return not open_ones and not await self.journal.transact(outbox.undelivered)

    def adopt(self, settings: AgentSettings) -> None:
        """As when the configuration was changed."""
        self.dispatcher._conversations.adopt(settings, MemorySettings())


@asynccontextmanager
async def running(  # noqa: PLR0913, PLR0917, PLR0915 - all that a test may choose
    folder: Path,
    provider: Provider,
    channel: Channel,
    memory: Memory | None = None,
    tools: Sequence[AnyTool] | None = None,
    around: Around | None = None,
    shares: Shares = NOTHING_SHARED,
    clock: SteppedClock | None = None,
) -> AsyncIterator[Running]:
    journal = open_agent_db(folder / "agent.db")
    clock = clock or StandingClock()
    settings = AgentSettings()
    registry = Registry(tools or [])
    stop = EmergencyStop(folder)
    gate = Gate(settings.policy, StandingApprovals(folder / "standing.json", clock), stop)
    runner = TurnRunner(provider, registry, gate, settings.max_tool_iterations)
    seams = (journal, memory or PreparedMemory(), registry, runner, clock, OFFER)
    hurts: list[str] = []
    people = PeopleStore(folder / "people.json", clock)
    parts = (around or Around()).parts(
        *seams,
        machine=lambda: [words(one) for one in hurts],
        audience_of=partial(audience_of, people=people),
        shares=shares,
    )
    workspace = str(folder / "workspace")
    conversations = Conversations(parts, settings, MemorySettings(), workspace)
    channels = {channel.name: channel}
    delivery = Delivery(journal, channels, clock)
    oversight = EstopControl(stop, [])
    people.let_in(
        PersonRole.OWNER, PersonAccount(channel=channel.name, sender="owner", target="chat")
    )
    owner = OwnerContact(people, channels, Activity(), clock, Address("terminal", "local", "owner"))
    desk = Desk(_everybody, anybody, owner.ask, oversight, _all_is_well, owner.questions)
    dispatcher = Dispatcher(journal, conversations, channels, delivery, desk)
    try:
        async with asyncio.TaskGroup() as tasks:
            agent = Running(dispatcher, tasks, journal, oversight, folder, clock)
            agent.hurts = hurts
            yield agent
            raise _Over  # noqa: TRY301 - how a task group is ended from inside
    except* _Over:
        pass
    finally:
        await conversations.settle()
        await journal.aclose()


class _Over(Exception):
    """Ends the task group of a test."""


def anybody(_message: Inbound) -> bool:
    """Everybody keeps their access."""
    return True


async def _everybody(inbound: Inbound) -> Admitted:
    """No door: who a message is from is what the test says."""
    return Admitted(inbound)


async def _all_is_well(_conversation: str) -> str:
    return "all is well"


def prompt_of(request: ChatRequest) -> str:
    """Everything that the model is told before the conversation."""
    return "\n".join(m.text for m in request.messages if m.role is Role.SYSTEM)


def spoken(request: ChatRequest) -> list[ChatMessage]:
    """The conversation, which begins after what the model is told."""
    return [m for m in request.messages if m.role is not Role.SYSTEM]
