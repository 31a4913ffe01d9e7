"""The composition root: settings become parts, parts become an agent, and it ends in order.

The only place where parts are made and where they learn of each other. Nothing here decides
anything about a message, a tool or a board.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, TextIO

from agent import logs
from agent.agenda import Agenda
from agent.answering import Answering, LastResort, offered, open_answering, secrets, seeing
from agent.briefing import Briefing
from agent.channels.base import Answer, Channel, Question
from agent.cli.embedder import embedder_of, embedding_key
from agent.clock import Clock, SystemClock
from agent.dispatch.activity import Activity
from agent.dispatch.audience import audience_of
from agent.dispatch.conversation import Conversations, Parts
from agent.dispatch.delivery import Delivery
from agent.dispatch.desk import Desk
from agent.dispatch.dispatcher import Dispatcher
from agent.dispatch.enabling import Enabling, open_lines
from agent.dispatch.gate import Gate
from agent.dispatch.journal import open_journal
from agent.dispatch.light import Signs, StatusLight, light_on, shine
from agent.dispatch.oversight import Oversight
from agent.dispatch.owner import Tell
from agent.dispatch.presence import Button, NoButton, PresenceRule
from agent.dispatch.records import Records
from agent.dispatch.turn import TurnRunner
from agent.dispatch.watcher import Watcher
from agent.doorway import Doorway
from agent.embeddings.base import Embedder
from agent.embeddings.factory import with_cache
from agent.hands import Hands
from agent.health.report import LastError, Reporter, Subjects
from agent.hooked import open_hooks
from agent.http import HttpClient
from agent.link.board import SerialBoard
from agent.providers.base import Provider
from agent.remembering import Remembering, open_remembering
from agent.security.approvals import StandingApprovals
from agent.security.audit import Audit
from agent.security.estop import EmergencyStop
from agent.security.redact import Redactor
from agent.sensing import Sensing
from agent.servers import Servers
from agent.settings import Paths, Settings, enable_gpios
from agent.storage.worker import DatabaseWorker
from agent.tools.base import AnyTool
from agent.tools.registry import Registry, ToolSource

if TYPE_CHECKING:
    from agent.lessons import Lessons
    from agent.tools.results import Results

_log = logging.getLogger(__name__)


class _Over(Exception):
    """Ends the agent's tasks from inside their group."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The parts of an agent that is not at work yet."""

    settings: Settings
    paths: Paths
    clock: Clock
    http: HttpClient
    answering: Answering
    embedder: Embedder
    remembering: Remembering
    journal: DatabaseWorker
    records: Records
    boards: tuple[SerialBoard, ...]
    registry: Registry
    last_error: LastError
    stop: EmergencyStop
    watchers: tuple[Watcher, ...]
    lights: tuple[StatusLight | None, ...]
    hands: Hands
    servers: Servers
    activity: Activity
    redactor: Redactor
    doorway: Doorway
    agenda: Agenda
    sensing: Sensing

    @property
    def provider(self) -> Provider:
        return self.answering.provider

    async def aclose(self) -> None:
        """Let go of everything, what was made last first."""
        await self.provider.aclose()
        await self.http.aclose()
        await self.remembering.aclose()
        await self.embedder.aclose()
        await self.journal.aclose()
        self.records.close()


def assemble(settings: Settings, paths: Paths, environ: Mapping[str, str], log: TextIO) -> Agent:
    redactor = Redactor()
    logs.set_up(settings.log, redactor.redact, log)
    logging.getLogger().addHandler(last_error := LastError(redactor.redact))
    clock, http = SystemClock(), HttpClient()
    embedder = _embedder(settings, paths, environ, http, redactor)
    remembering = open_remembering(settings, paths, embedder, clock)
    every = settings.every_board()
    boards = tuple(SerialBoard(board, paths.board_folder(board), clock) for board in every)
    journal = open_journal(paths.agent_db)
    for secret in secrets(settings, environ):
        redactor.add(secret)
    lights = tuple(map(light_on, boards, settings.every_board(), [clock] * len(boards)))
    watchers = _watchers(settings, paths, clock, boards)
    agenda, doorway = Agenda(settings, paths, clock), Doorway(paths, clock)
    resort = LastResort(embedder, paths.phrases)
    hands = Hands(settings, remembering.memory, doorway, agenda)
    servers = Servers(settings, paths, clock, redactor.knows)
    return Agent(
        settings,
        paths,
        clock,
        http,
        open_answering(settings, environ, http, resort, journal, clock),
        embedder,
        remembering,
        journal,
        Records(Audit(paths.audit, redactor.redact, clock), journal, clock),
        boards,
        Registry(
            remembering.tools(),
            # Of two tools with one name the later stays: none takes the place of one of ours
            [
                servers.tools,
                *_board_tools(settings, boards, lights),
                _tools(settings, paths, clock, http, watchers, hands),
            ],
        ),
        last_error,
        EmergencyStop(paths.state_dir),
        watchers,
        lights,
        hands,
        servers,
        Activity(),
        redactor,
        doorway,
        agenda,
        Sensing(paths, clock),
    )


def _watchers(
    settings: Settings, paths: Paths, clock: Clock, boards: Sequence[SerialBoard]
) -> tuple[Watcher, ...]:
    return tuple(
        Watcher(board, wanted.watch, paths.watches(wanted), clock, wanted.name)
        for board, wanted in zip(boards, settings.every_board(), strict=True)
    )


def _board_tools(
    settings: Settings, boards: Sequence[SerialBoard], lights: Sequence[StatusLight | None]
) -> Iterator[Callable[[], tuple[AnyTool, ...]]]:
    if boards:
        from agent.tools.board import BoardTools  # noqa: PLC0415 - for those who have a board
        from agent.tools.reflex import ReflexTools  # noqa: PLC0415 - as above
    for wanted, board, light in zip(settings.every_board(), boards, lights, strict=True):
        named = {*wanted.pins, *(one for pin in wanted.pins.values() for one in pin.called)}
        yield BoardTools(board, light.moved if light else None, named).tools
        yield ReflexTools(board).tools


def _embedder(
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    http: HttpClient,
    redactor: Redactor,
) -> Embedder:
    if (key := embedding_key(settings.embeddings, environ)) is not None:
        redactor.add(key.secret)
    embedder = embedder_of(settings, paths, environ, http)
    return with_cache(embedder, settings.embeddings, paths.embeddings_db, SystemClock())


def _tools(
    settings: Settings,
    paths: Paths,
    clock: Clock,
    http: HttpClient,
    watchers: Sequence[Watcher],
    hands: Hands,
) -> ToolSource:
    paths.workspace.mkdir(parents=True, exist_ok=True)

    @cache
    def tools() -> tuple[AnyTool, ...]:
        from agent.security.sandbox_choice import choose  # noqa: PLC0415 - no start needs it
        from agent.toolset import Surroundings, all_tools  # noqa: PLC0415 - no start needs them

        around = hands.reached(Surroundings(settings.web, paths, clock, http, watchers))
        sandbox = choose(paths.workspace).sandbox
        return all_tools(replace(around, shell=settings.shell, sandbox=sandbox))

    return tools


@contextlib.asynccontextmanager
async def at_work(
    agent: Agent, channels: Sequence[Channel]
) -> AsyncIterator[tuple[Dispatcher, Reporter, asyncio.TaskGroup]]:
    """The agent with its tasks running; at the end outputs are safe and everything is closed."""
    by_name = {channel.name: channel for channel in channels}
    reporter = _reporter(agent, tuple(by_name))
    oversight = Oversight(agent.stop, agent.boards)
    opened = agent.doorway.opened(by_name, agent.activity)
    button = _button(agent)
    enabling = Enabling(open_lines(enable_gpios(agent.settings)), agent.stop, agent.clock)
    delivery = Delivery(agent.journal, by_name, agent.clock, agent.activity, agent.redactor)
    conversations = _conversations(agent, button)
    desk = Desk(*opened.checks, opened.owner.ask, oversight, partial(_report, agent, reporter))
    dispatcher = Dispatcher(agent.journal, conversations, by_name, delivery, desk)
    try:
        async with asyncio.TaskGroup() as tasks:
            always = (
                *(reporter.keep(), button.run(), oversight.watch(agent.clock), enabling.run()),
                agent.hands.run(agent.stop, delivery, tasks),
                *(agent.remembering.run(agent.journal, agent.provider), opened.greet_nobody()),
            )
            for work in (*(board.run() for board in agent.boards), *always):
                tasks.create_task(work)
            # What begins by itself comes through no door
            deliver = partial(dispatcher.begin, tasks=tasks)
            owner = agent.doorway.owner = opened.reached(delivery, deliver, tasks)
            around = (agent.journal, delivery, deliver, owner.tell, lambda: opened.owner.places)
            for work in (
                agent.servers.run(owner.tell),
                agent.sensing.run(owner.tell),
                *(watcher.run(owner) for watcher in agent.watchers),
                _reload(agent, conversations, opened.owner.confirm, owner.tell),
                _once(dispatcher.resumed, partial(agent.agenda.run, *around)),
            ):
                tasks.create_task(work)
            await agent.answering.begin(owner.tell)
            shining = tasks.create_task(shine(agent.lights, _signs(agent)))
            yield dispatcher, reporter, tasks
            await _make_safe(agent, shining)
            raise _Over  # noqa: TRY301 - how a task group is ended from inside
    except* _Over:
        pass
    finally:
        await _close(agent, enabling, delivery)


async def _close(agent: Agent, enabling: Enabling, delivery: Delivery) -> None:
    enabling.close()
    await delivery.settle()
    await agent.aclose()


async def _once(begun: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    await begun.wait()
    await work()


def _signs(agent: Agent) -> Signs:
    return Signs(agent.activity, agent.stop, lambda: bool(agent.provider.trouble))


async def _reload(
    agent: Agent,
    conversations: Conversations,
    confirm: Callable[[Question], Awaitable[Answer]],
    tell: Tell,
) -> None:
    """Only where there is a file that can be changed."""
    if agent.paths.config is None:
        return
    from agent.reloading import Exchanges, Reloading  # noqa: PLC0415 - after the start

    async def renew(settings: Settings) -> None:
        for secret in secrets(settings, os.environ):
            agent.redactor.add(secret)
        await agent.answering.renew(settings)

    exchanges = Exchanges(conversations.adopt, renew, confirm, tell)
    await Reloading(agent.paths.config, agent.settings, exchanges, agent.clock).run()


async def _make_safe(agent: Agent, shining: asyncio.Task[None]) -> None:
    # Before the outputs are made safe, or it would be lit again
    shining.cancel()
    await asyncio.wait([shining])
    await asyncio.gather(*(board.release() for board in agent.boards))


def _reporter(agent: Agent, channels: Sequence[str]) -> Reporter:
    told = (agent.provider.name, agent.boards, channels, agent.last_error, agent.stop)
    trouble = agent.activity.troubles.get
    asked = (agent.remembering.sentence, agent.answering.spending, trouble, agent.sensing.sentences)
    subjects = Subjects(*told, *asked)
    return Reporter(agent.paths.status_file, subjects, agent.clock)


async def _report(agent: Agent, reporter: Reporter, conversation: str) -> str:
    spent = await agent.answering.spent_in(conversation)
    return "\n".join([reporter.sentences(), *([f"This conversation: {spent}."] if spent else [])])


def _button(agent: Agent) -> Button | NoButton:
    settings = zip(agent.boards, agent.settings.every_board(), strict=True)
    places = [(board, wanted.approve_button) for board, wanted in settings if wanted.approve_button]
    return Button(places, agent.clock) if places else NoButton()


def _conversations(agent: Agent, button: Button | NoButton) -> Conversations:
    settings = agent.settings.agent
    gate = Gate(
        settings.policy,
        StandingApprovals(agent.paths.approvals, agent.clock),
        agent.stop,
        PresenceRule(button, frozenset(settings.presence_for)),
        agent.activity,
        agent.records,
    )
    provider = seeing(agent.provider, agent.settings, agent.paths, agent.http)
    most = settings.max_tool_iterations
    keeping = partial(_results, agent)
    runner = TurnRunner(provider, agent.registry, gate, most, keeping, agent.redactor)
    offer = offered(agent.settings, os.environ)
    memory, registry = agent.remembering.memory, agent.registry
    told = (agent.activity, agent.agenda.told_to, Briefing(agent.paths).sections)
    seams = (agent.journal, memory, registry, runner, agent.clock, offer)
    hooks = open_hooks(agent.settings.hooks.modules)
    parts = Parts(
        *seams,
        *told,
        hooks=hooks,
        machine=agent.sensing.felt,
        open_learner=partial(_lessons, agent),
        shares=agent.settings.workspace.shares,
        audience_of=partial(audience_of, people=agent.doorway.people),
    )
    return Conversations(parts, settings, agent.settings.memory, str(agent.paths.workspace))


def _lessons(agent: Agent) -> "Lessons":
    from agent.lessons import Lessons  # noqa: PLC0415 - the first answer needs it
    from agent.storage.phrases import Phrases  # noqa: PLC0415 - as above

    phrases = Phrases(agent.paths.phrases, agent.clock)
    return Lessons(phrases, agent.registry, agent.redactor)


def _results(agent: Agent) -> "Results":
    from agent.tools.results import Results  # noqa: PLC0415 - the first use of a tool needs it

    return Results(agent.paths.workspace, agent.clock)
