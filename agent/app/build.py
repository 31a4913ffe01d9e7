"""The composition root: builds the parts of an agent, connects them, and ends them in order."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from msgspec.structs import replace

from agent.access.audience import audience_of
from agent.access.owner import Tell
from agent.app.access import AccessControl, OpenedAccess
from agent.app.boards import open_boards
from agent.app.embedder import open_embedder
from agent.app.machine_health import MachineHealth
from agent.app.mcp import McpSupport
from agent.app.memory import AgentMemory, open_memory
from agent.app.peripherals import Peripherals, RecordedParts, open_devices
from agent.app.prompt_files import PromptSections
from agent.app.providers import (
    LocalParts,
    ModelServices,
    keep_secrets,
    model_choices,
    open_providers,
    with_pictures,
)
from agent.app.scheduler import Scheduler
from agent.approvals.button import Button, NoButton, PresenceRule, open_button
from agent.approvals.gate import Gate
from agent.approvals.records import DecisionRecords
from agent.channels.base import Answer, Channel, Deliver, Question
from agent.embeddings.base import Embedder
from agent.hardware.enable_lines import EnableLineGuard, open_enable_lines
from agent.hardware.estop import EstopControl
from agent.hardware.status_light import LightSigns, StatusLight, light_on, shine
from agent.hardware.watches import BoardWatcher
from agent.health.report import LastError, Reporter, Subjects
from agent.link.board import SerialBoard
from agent.messaging.conversation import Conversations
from agent.messaging.conversation_parts import ConversationParts
from agent.messaging.delivery import Delivery
from agent.messaging.dispatcher import Dispatcher
from agent.messaging.journal import open_agent_db
from agent.messaging.worker import Desk
from agent.net.http import HttpClient
from agent.providers.base import Provider
from agent.security.approvals import StandingApprovals
from agent.security.audit import Audit
from agent.security.estop import EmergencyStop
from agent.security.redact import Redactor
from agent.settings import Paths, Settings, enable_gpios
from agent.storage.worker import DatabaseWorker
from agent.system import logs
from agent.system.activity import Activity
from agent.system.clock import Clock, SystemClock
from agent.tools.base import AnyTool
from agent.tools.registry import Registry, ToolSource
from agent.turn.hooks import open_hooks
from agent.turn.turn import TurnRunner

if TYPE_CHECKING:
    from agent.app.phrase_learner import PhraseLearner
    from agent.messaging.voice_answers import Speak
    from agent.tools.results import Results

_log = logging.getLogger(__name__)


class _Over(Exception):
    """Ends the agent's tasks from inside their group."""


class Agent(Struct, frozen=True):
    """The parts of an agent that is not at work yet."""

    settings: Settings
    paths: Paths
    clock: Clock
    http: HttpClient
    providers: ModelServices
    embedder: Embedder
    memory: AgentMemory
    journal: DatabaseWorker
    records: DecisionRecords
    boards: tuple[SerialBoard, ...]
    registry: Registry
    last_error: LastError
    stop: EmergencyStop
    button: Button | NoButton
    watchers: tuple[BoardWatcher, ...]
    lights: tuple[StatusLight | None, ...]
    peripherals: Peripherals
    mcp: McpSupport
    activity: Activity
    redactor: Redactor
    access: AccessControl
    scheduler: Scheduler
    machine_health: MachineHealth

    @property
    def provider(self) -> Provider:
        return self.providers.provider

    async def aclose(self) -> None:
        """Let go of everything, what was made last first."""
        await self.peripherals.aclose()
        await self.provider.aclose()
        await self.http.aclose()
        await self.memory.aclose()
        await self.embedder.aclose()
        await self.journal.aclose()
        self.records.close()


def assemble(settings: Settings, paths: Paths, environ: Mapping[str, str], log: TextIO) -> Agent:
    redactor = Redactor()
    logs.set_up(settings.log, redactor.redact, log)
    logging.getLogger().addHandler(last_error := LastError(redactor.redact))
    clock, http, journal = SystemClock(), HttpClient(), open_agent_db(paths.agent_db)
    embedder = open_embedder(settings, paths, environ, http, redactor)
    memory = open_memory(settings, paths, embedder, clock)
    every = settings.every_board()
    boards = open_boards(settings, paths, clock)
    keep_secrets(redactor, settings, environ)
    lights = tuple(map(light_on, boards, every, [clock] * len(boards)))
    recorded, access = RecordedParts(settings, paths, clock, boards), AccessControl(paths, clock)
    watchers = recorded.watchers()
    scheduler = Scheduler(settings, paths, clock, recorded.order_rehearsal)
    local = LocalParts(embedder, paths.phrases, paths.model_templates)
    devices = open_devices(recorded, environ, redactor)
    peripherals = Peripherals(settings, memory.memory, access, scheduler, recorded, devices)
    mcp = McpSupport(settings, paths, clock, redactor.knows)
    # Of two tools with one name the later stays: none takes the place of one of ours
    tools = [
        mcp.tools,
        peripherals.device_tools,
        *_board_tools(settings, boards, lights, peripherals),
        _tools(settings, paths, clock, http, watchers, peripherals),
    ]
    return Agent(
        settings=settings,
        paths=paths,
        clock=clock,
        http=http,
        providers=open_providers(settings, environ, http, local, journal, clock),
        embedder=embedder,
        memory=memory,
        journal=journal,
        records=DecisionRecords(Audit(paths.audit, redactor.redact, clock), journal, clock),
        boards=boards,
        registry=Registry(memory.tools(), tools, embedder),
        last_error=last_error,
        stop=EmergencyStop(paths.state_dir),
        button=open_button(boards, every, clock),
        watchers=watchers,
        lights=lights,
        peripherals=peripherals,
        mcp=mcp,
        activity=Activity(),
        redactor=redactor,
        access=access,
        scheduler=scheduler,
        machine_health=MachineHealth(paths, clock),
    )


def _board_tools(
    settings: Settings,
    boards: Sequence[SerialBoard],
    lights: Sequence[StatusLight | None],
    peripherals: Peripherals,
) -> Iterator[Callable[[], tuple[AnyTool, ...]]]:
    if boards:
        from agent.tools.board import BoardTools  # noqa: PLC0415 - for those who have a board
        from agent.tools.reflex import ReflexTools  # noqa: PLC0415 - as above
    for wanted, board, light in zip(settings.every_board(), boards, lights, strict=True):
        named = {*wanted.pins, *(one for pin in wanted.pins.values() for one in pin.called)}
        yield BoardTools(board, light.moved if light else None, named).tools
        yield ReflexTools(board, peripherals.rehearsal).tools


def _tools(
    settings: Settings,
    paths: Paths,
    clock: Clock,
    http: HttpClient,
    watchers: Sequence[BoardWatcher],
    peripherals: Peripherals,
) -> ToolSource:
    paths.workspace.mkdir(parents=True, exist_ok=True)

    @cache
    def tools() -> tuple[AnyTool, ...]:
        from agent.app.tools import ToolParts, all_tools, transcription  # noqa: PLC0415 - no start needs them
        from agent.security.sandbox.choice import choose  # noqa: PLC0415 - no start needs it

        around = peripherals.reached(ToolParts(settings.web, paths, clock, http, watchers))
        able = choose(paths.workspace).sandbox, transcription(around, settings)
        return all_tools(replace(around, shell=settings.shell, sandbox=able[0], transcribe=able[1]))

    return tools


@contextlib.asynccontextmanager
async def at_work(
    agent: Agent, channels: Sequence[Channel]
) -> AsyncIterator[tuple[Dispatcher, Reporter, asyncio.TaskGroup]]:
    """The agent with its tasks running; at the end outputs are safe and everything is closed."""
    by_name = {channel.name: channel for channel in channels}
    reporter = _reporter(agent, tuple(by_name))
    oversight = EstopControl(agent.stop, agent.boards)
    opened = agent.access.opened(by_name, agent.activity, agent.journal, agent.settings.given_names)
    enabling = EnableLineGuard(
        open_enable_lines(enable_gpios(agent.settings)), agent.stop, agent.clock
    )
    delivery = Delivery(agent.journal, by_name, agent.clock, agent.activity, agent.redactor)
    conversations = _conversations(agent)
    desk = _desk(agent, opened, oversight, reporter)
    dispatcher = Dispatcher(agent.journal, conversations, by_name, delivery, desk)
    try:
        async with asyncio.TaskGroup() as tasks:
            for work in (
                *(board.run() for board in agent.boards),
                reporter.keep(),
                agent.button.run(),
                oversight.watch(agent.clock),
                enabling.run(),
                agent.peripherals.run(agent.stop, delivery, tasks),
                agent.memory.run(agent.journal, agent.provider, dispatcher.answered_since),
                opened.run(),
            ):
                tasks.create_task(work)
            # Messages of the agent's own need no admission
            deliver = partial(dispatcher.begin, tasks=tasks)
            owner = agent.access.owner = opened.reached(delivery, deliver, tasks)
            run_jobs = _jobs(agent, delivery, deliver, opened)
            for work in (
                *(run(owner.tell) for run in (agent.mcp.run, agent.machine_health.run)),
                *agent.peripherals.watches(owner, opened.owner.confirm),
                *(watcher.run(owner) for watcher in agent.watchers),
                _reload(agent, conversations, opened.owner.confirm, owner.tell),
                _once(dispatcher.resumed, run_jobs),
            ):
                tasks.create_task(work)
            await agent.providers.begin(owner.tell)
            signs = LightSigns(agent.activity, agent.stop, lambda: bool(agent.provider.trouble))
            shining = tasks.create_task(shine(agent.lights, signs))
            yield dispatcher, reporter, tasks
            await _make_safe(agent, shining)
            raise _Over  # noqa: TRY301 - how a task group is ended from inside
    except* _Over:
        pass
    finally:
        await _close(agent, enabling, delivery, conversations)


def _desk(agent: Agent, opened: OpenedAccess, oversight: EstopControl, reporter: Reporter) -> Desk:
    return Desk(
        admit=opened.admit,
        stands=opened.admission.stands,
        ask=opened.owner.ask,
        oversight=oversight,
        report=partial(_report, agent, reporter),
        questions=opened.owner.questions,
        plot=agent.peripherals.plot,
        speak=_voice(agent),
    )


def _voice(agent: Agent) -> "Speak | None":
    if agent.settings.channels.speech is None:
        return None
    from agent.app.voice import open_voice  # noqa: PLC0415 - most agents do not speak

    return open_voice(agent.settings.channels.speech, agent.paths, agent.http)


def _jobs(
    agent: Agent, delivery: Delivery, deliver: Deliver, opened: OpenedAccess
) -> Callable[[], Awaitable[None]]:
    return partial(
        agent.scheduler.run,
        journal=agent.journal,
        delivery=delivery,
        deliver=deliver,
        stands=opened.admission.stands,
        tell=agent.access.tell,
        home=lambda: opened.owner.places,
    )


async def _close(agent: Agent, enabling: EnableLineGuard, *busy: Delivery | Conversations) -> None:
    enabling.close()
    await asyncio.gather(*(one.settle() for one in busy))
    await agent.aclose()


async def _once(begun: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    await begun.wait()
    await work()


async def _reload(
    agent: Agent,
    conversations: Conversations,
    confirm: Callable[[Question], Awaitable[Answer]],
    tell: Tell,
) -> None:
    """Only where there is a file that can be changed."""
    if agent.paths.config is None:
        return
    from agent.app.reload import Reloader, ReloadTargets  # noqa: PLC0415 - after the start

    async def renew(settings: Settings) -> bool:
        keep_secrets(agent.redactor, settings, os.environ)
        if agent.providers.renew is None:
            return False
        conversations.offer(await agent.providers.renew(settings))
        return True

    exchanges = ReloadTargets(conversations.adopt, renew, confirm, tell)
    await Reloader(agent.paths.config, agent.settings, exchanges, agent.clock).run()


async def _make_safe(agent: Agent, shining: asyncio.Task[None]) -> None:
    # Before the outputs are made safe, or it would be lit again
    shining.cancel()
    await asyncio.wait([shining])
    await asyncio.gather(*(board.release() for board in agent.boards))


def _reporter(agent: Agent, channels: Sequence[str]) -> Reporter:
    subjects = Subjects(
        provider=agent.provider.name,
        boards=agent.boards,
        channels=channels,
        last_error=agent.last_error,
        stop=agent.stop,
        memory=agent.memory.sentence,
        spending=agent.providers.spending,
        trouble=agent.activity.trouble,
        machine=agent.machine_health.sentences,
        enable_gpios=enable_gpios(agent.settings),
    )
    return Reporter(agent.paths.status_file, subjects, agent.clock)


async def _report(agent: Agent, reporter: Reporter, conversation: str) -> str:
    spent = await agent.providers.spent_in(conversation)
    return "\n".join([reporter.sentences(), *([f"This conversation: {spent}."] if spent else [])])


def _conversations(agent: Agent) -> Conversations:
    settings = agent.settings.agent
    approvals = StandingApprovals(agent.paths.approvals, agent.clock)
    presence = PresenceRule(agent.button, frozenset(settings.presence_for))
    gate = Gate(settings.policy, approvals, agent.stop, presence, agent.activity, agent.records)
    runner = TurnRunner(
        with_pictures(agent.provider, agent.settings, agent.paths, agent.http),
        agent.registry,
        gate,
        max_iterations=settings.max_tool_iterations,
        results=partial(_results, agent),
        redactor=agent.redactor,
    )
    parts = ConversationParts(
        journal=agent.journal,
        memory=agent.memory.memory,
        registry=agent.registry,
        runner=runner,
        clock=agent.clock,
        offer=model_choices(agent.settings, os.environ),
        activity=agent.activity,
        jobs_of=agent.scheduler.told_to,
        briefing=PromptSections(agent.paths, agent.settings.agent.identity).sections,
        hooks=open_hooks(agent.settings.hooks.modules),
        machine=agent.machine_health.felt,
        answered=agent.memory.heard,
        open_learner=partial(_learner, agent),
        shares=agent.settings.workspace.shares,
        audience_of=partial(audience_of, people=agent.access.people),
    )
    return Conversations(parts, settings, agent.settings.memory, str(agent.paths.workspace))


def _learner(agent: Agent) -> "PhraseLearner":
    from agent.app.phrase_learner import open_learner  # noqa: PLC0415 - the first answer needs it

    return open_learner(agent.paths.phrases, agent.clock, agent.registry, agent.redactor)


def _results(agent: Agent) -> "Results":
    from agent.tools.results import Results  # noqa: PLC0415 - the first use of a tool needs it

    return Results(agent.paths.workspace, agent.clock)
