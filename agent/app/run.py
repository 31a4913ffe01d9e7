"""An agent at work: in this terminal with a person, or as a service for its channels.

Begins and ends a run; what an agent is made of is composed elsewhere.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from msgspec.structs import replace

from agent.app.build import Agent, assemble, at_work
from agent.app.foreground import lines_of, until_left, write_out
from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings
from agent.channels.terminal import TerminalChannel
from agent.errors import BackupRefused, ConfigRefused
from agent.gateway.settings import ConsoleSettings
from agent.health.ownership import keep_private
from agent.health.report import Reporter
from agent.health.starts import SAFE_MODE_TEXT, Starts
from agent.link.base import BoardState
from agent.memory.backends import BackendPlace
from agent.memory.former_backend import left_behind
from agent.messaging.channel_supervisor import Supervisor
from agent.messaging.dispatcher import Dispatcher
from agent.settings import Paths, Settings
from agent.storage import lock
from agent.storage.privacy import private_umask
from agent.storage.reserve import Reserve
from agent.system import garbage
from agent.system.clock import SystemClock
from agent.text.config_hints import install_hint
from agent.tools.registry import Registry

if TYPE_CHECKING:
    from agent.channels.attached.channel import AttachedTerminals
    from agent.gateway.assistants.channel import AssistantChannel
    from agent.gateway.gateway import Gateway
    from agent.text.echo import OwnSpeech

# ruff: noqa: PLC0415  # a chat by itself has no other terminal and no service manager
_log = logging.getLogger(__name__)

# A board that is plugged in answers its greeting well within this; a chat starts without it
BOARD_PATIENCE_S = 3.0
# A board that is not plugged in is not waited for: this is only the time to look
LOOKING_PATIENCE_S = 0.5
# Plan of a restore that was cut off, as agent/backup/switching.py keeps it
HALF_RESTORED = Path(".restore/plan.json")
# What a system of ours says of itself
_IMAGE = Path("/usr/share/barnacle/image.json")
# By then the channels have polled and the board has greeted: nothing more is loaded
START_OVER_S = 2.0
# How often a starting chat looks whether the board has answered
BOARD_LOOK_S = 0.05
# A chat's log is begun anew beyond this; the one before it is kept
MAX_CHAT_LOG_BYTES = 1_000_000


async def chat(settings: Settings, paths: Paths, *, plain: bool) -> int:
    """A conversation in this terminal, until the person leaves; the exit status."""
    _refuse_half_restored(paths)
    with private_umask(), _state_held(paths), _chat_log(paths) as log:
        agent = assemble(settings, paths, os.environ, log)
        _close_to_others(paths)
        plain = plain or not sys.stdin.isatty()
        lines = lines_of(settings, paths, plain=plain)
        terminal = TerminalChannel(
            lines, write_out, agent.clock, settings.terminal.prompt, plain=plain
        )
        try:
            async with at_work(agent, [terminal]) as (dispatcher, reporter, tasks):
                await dispatcher.abandon(terminal.name)
                await _greet_board(agent)
                if not plain:
                    place = BackendPlace(
                        settings.memory, paths.state_dir, agent.embedder, agent.clock
                    )
                    for sentence in filter(None, (reporter.sentences(), left_behind(place))):
                        write_out(f"{sentence}\n")
                    write_out("/help lists the commands.\n")
                # What was to be told while nobody was here
                await dispatcher.resume(tasks)
                listening = terminal.listen(partial(dispatcher.deliver, tasks=tasks))
                was_told = await until_left(listening, partial(_interrupt, terminal, dispatcher))
                if was_told and not plain:
                    write_out("\n")
        finally:
            lines.close()
    return 0


async def run(settings: Settings, paths: Paths) -> int:
    """Serve every configured channel until told to stop; the exit status."""
    _refuse_half_restored(paths)
    garbage.hold()
    with private_umask(), _state_held(paths):
        starts = Starts(paths.state_dir / "starts.json", SystemClock())
        limits = _limits(is_looping=starts.begin())
        agent = _assembled(settings, paths, only_talks=bool(limits))
        supervisors: list[Supervisor] = []
        terminals, console = _terminals(agent), _console(agent, supervisors)
        own = _own_speech(settings)
        channels = (terminals, *console, *_platforms(agent, own), *_assistants(agent, own))
        gateway = _gateway(agent, channels, supervisors)
        async with at_work(agent, channels) as (dispatcher, reporter, tasks):
            _log.info("started: %s", " ".join(reporter.sentences().split("\n")))
            for attached in (terminals, *console):
                _let_in(attached, channels, agent, dispatcher, reporter, tasks)
            tell = partial(_tell_owner, agent)
            supervisors.extend(
                Supervisor(channel, agent.clock, agent.activity, tell) for channel in channels
            )
            stopping = _notify(agent, reporter, supervisors, tasks)
            await dispatcher.resume(tasks)
            deliver = partial(dispatcher.deliver, tasks=tasks)
            for supervisor in supervisors:
                tasks.create_task(supervisor.run(deliver))
            _begin_upkeep(agent, tasks, gateway)
            garbage.settle()
            for sentence in limits:
                _log.error("safe mode: %s", sentence)
                await _tell_owner(agent, "", sentence)
            await until_left(asyncio.Event().wait(), lambda: False)
            _log.info("stopping")
            stopping()
            await _let_go(agent, channels)
        starts.end()
    return 0


@contextlib.contextmanager
def _state_held(paths: Paths) -> Iterator[None]:
    """Hold the state folder, with room to open what is in it."""
    with lock.hold(paths.state_dir):
        Reserve(paths.state_dir, SystemClock()).give_up_if_full()
        yield


def _refuse_half_restored(paths: Paths) -> None:
    """Raise BackupRefused where a restore was cut off: what is there is half of one state."""
    if (paths.state_dir / HALF_RESTORED).exists():
        raise BackupRefused(
            f"a restore into {paths.state_dir} was cut off: run `sudo barnacle backup restore "
            "--continue`, then start the agent"
        )


def _limits(*, is_looping: bool) -> list[str]:
    """Return the reasons why the agent only talks; usually none."""
    from agent.health.data_partition import unused_text, why_unused

    why = why_unused()
    return [*([SAFE_MODE_TEXT] if is_looping else []), *([unused_text(why)] if why else [])]


def _assembled(settings: Settings, paths: Paths, *, only_talks: bool) -> Agent:
    """The agent; one that keeps falling over, or can record nothing, gets no tools."""
    agent = assemble(settings, paths, os.environ, sys.stderr)
    _close_to_others(paths)
    if not only_talks:
        return agent
    agent.mcp.give_up()
    return replace(agent, registry=Registry(()))


async def _let_go(agent: Agent, channels: Sequence[Channel]) -> None:
    """Make the outputs safe, then close the channels: that takes as long as their platforms do."""
    agent.peripherals.make_safe()
    await asyncio.gather(*(board.release() for board in agent.boards))
    for channel in channels:
        await channel.aclose()


def _notify(
    agent: Agent, reporter: Reporter, supervisors: Sequence[Supervisor], tasks: asyncio.TaskGroup
) -> Callable[[], None]:
    """Keep the service manager told, where there is one; what to call when the end begins."""
    if "NOTIFY_SOCKET" not in os.environ:
        return lambda: None
    from agent.health.systemd_notify import SystemdNotifier
    from agent.health.watchdog import Vitals, Watchdog

    # An empty transaction writes nothing, and waits for whatever the storage is stuck in
    storage = partial(agent.journal.transact, lambda _db: None)
    vitals = Vitals(storage, agent.boards, supervisors, reporter.status)
    notifying = Watchdog(SystemdNotifier(os.environ), vitals, agent.clock)
    tasks.create_task(notifying.run())
    return notifying.stopping


def _terminals(agent: Agent) -> "AttachedTerminals":
    from agent.channels.attached.channel import AttachedTerminals
    from agent.channels.attached.socket import socket_path

    state_dir = agent.paths.state_dir
    return AttachedTerminals(socket_path(os.environ, state_dir), state_dir, agent.clock)


def _console(agent: Agent, supervisors: Sequence[Supervisor]) -> "tuple[AttachedTerminals, ...]":
    """Return the channel of the browsers, where there is a console."""
    if (wanted := console_wanted(agent.settings.console, _IMAGE)) is None:
        return ()
    from agent.app.console.open import open_console

    return (open_console(wanted, agent, supervisors, os.environ),)


def console_wanted(settings: ConsoleSettings | None, image: Path) -> ConsoleSettings | None:
    """Return the settings of the console; None without one. A card of ours has one by itself."""
    found = ConsoleSettings() if settings is None and image.exists() else settings
    return found if found is not None and found.enabled else None


def _let_in(
    terminals: "AttachedTerminals",
    channels: Sequence[Channel],
    agent: Agent,
    dispatcher: Dispatcher,
    reporter: Reporter,
    tasks: asyncio.TaskGroup,
) -> None:
    from agent.channels.attached.channel import AgentSide
    from agent.messaging.inbox import is_settled

    for channel in channels:
        if channel.abilities.is_relayed:
            relayed = cast("AssistantChannel", channel)
            relayed.use_tool, relayed.withdraw = dispatcher.use_tool, dispatcher.withdraw
    terminals.open(
        AgentSide(
            reporter.sentences,
            dispatcher.stop,
            partial(dispatcher.catch_up, terminals.name, tasks=tasks),
            partial(is_settled, agent.journal, terminals.name),
            lambda: {one.name: one.pulse.age_s for one in channels if one.pulse is not None},
        )
    )


def _own_speech(settings: Settings) -> "OwnSpeech | None":
    """Return the memory of what is said aloud, which all rooms share; None without rooms."""
    if settings.wyoming is None and settings.channels.voice is None:
        return None
    from agent.text.echo import OwnSpeech

    return OwnSpeech()


def _platforms(agent: Agent, own: "OwnSpeech | None" = None) -> tuple[Channel, ...]:
    """Return the configured channels; a shared account sends no files that are kept."""
    if agent.settings.channels == ChannelsSettings() and agent.settings.gateway is None:
        return ()
    from agent.app.channels import AgentState, open_channels, secrets
    from agent.channels.platform import PlatformContext

    for secret in secrets(agent.settings, os.environ):
        agent.redactor.add(secret)
    reach = PlatformContext(
        paths=agent.paths,
        environ=os.environ,
        http=agent.http,
        clock=agent.clock,
        knows=agent.access.knows,
        boards=agent.boards,
        newest=agent.peripherals.newest_readings,
        own_state=partial(AgentState, agent),
        own_speech=own,
        group_moved=agent.access.follow_group,
        account_left=agent.access.account_left,
    )
    return open_channels(agent.settings, reach)


def _assistants(agent: Agent, own: "OwnSpeech | None" = None) -> tuple[Channel, ...]:
    """Return the channels of other assistants, where the owner lets them in."""
    return tuple(_lent_by(agent, own))


def _lent_by(agent: Agent, own: "OwnSpeech | None") -> Iterator[Channel]:
    if agent.settings.gateway is not None and agent.settings.gateway.assistants:
        from agent.gateway.assistants.channel import AssistantChannel

        yield AssistantChannel()
    if agent.settings.wyoming is not None:
        from agent.app.assistants import open_wyoming

        yield open_wyoming(agent, agent.settings.wyoming, own)
    if (devices := agent.peripherals.devices) is not None:
        yield devices.open(agent.boards, agent.access.people, agent.access.tell)


def _gateway(
    agent: Agent, channels: Sequence[Channel], supervisors: Sequence[Supervisor]
) -> "Gateway | None":
    """Open from now on: whatever is wrong with it is said before anything begins."""
    if agent.settings.gateway is None:
        return None
    try:
        from agent.app.gateway import open_gateway
    except ImportError as err:
        raise ConfigRefused(f"[gateway] needs its libraries: {install_hint('gateway')}") from err

    return open_gateway(agent.settings.gateway, agent, channels, supervisors, os.environ)


def _begin_upkeep(agent: Agent, tasks: asyncio.TaskGroup, gateway: "Gateway | None") -> None:
    if gateway is not None:
        tasks.create_task(gateway.run())
    tasks.create_task(Reserve(agent.paths.state_dir, agent.clock).run())
    tasks.create_task(_end_start(agent))
    _tell_of_updates(agent, tasks)
    _back_up(agent, tasks)


async def _end_start(agent: Agent) -> None:
    """Give back what only the start has read of libraries: 4 MB."""
    await agent.clock.sleep(START_OVER_S)
    await asyncio.to_thread(lambda: import_module("agent.system.pages").give_back())


def _tell_of_updates(agent: Agent, tasks: asyncio.TaskGroup) -> None:
    """Only on a card of ours: elsewhere there are no slots."""
    if not _IMAGE.exists():
        return
    from agent.update.records import FOLDER, NAME, UpdateNews, UpdateRecords

    news = UpdateNews(UpdateRecords(FOLDER), agent.paths.state_dir / NAME, agent.clock)
    tasks.create_task(news.run(partial(_tell_owner, agent, "")))


def _back_up(agent: Agent, tasks: asyncio.TaskGroup) -> None:
    """Make a backup every night, where the configuration says for whom."""
    wanted, owner = agent.settings.backup, agent.access.owner
    if wanted is None or not wanted.is_wanted or owner is None:
        return
    from agent.backup.nightly import NightlyBackup

    nightly = NightlyBackup(wanted, agent.paths.config, agent.paths.state_dir, agent.clock)
    tasks.create_task(nightly.run(owner))


async def _tell_owner(agent: Agent, _channel: str, text: str) -> None:
    """Tell the owner; a channel with trouble is the last place to try."""
    await agent.access.tell(text)


async def _greet_board(agent: Agent) -> None:
    """Give boards that are plugged in the time to answer, so that the first words find them."""
    begun_s = agent.clock.monotonic_s()
    while missing := {board.status.state for board in agent.boards} - {BoardState.READY}:
        is_absent = missing == {BoardState.ABSENT}
        patience_s = LOOKING_PATIENCE_S if is_absent else BOARD_PATIENCE_S
        if agent.clock.monotonic_s() - begun_s > patience_s:
            return
        await agent.clock.sleep(BOARD_LOOK_S)


def _interrupt(terminal: TerminalChannel, dispatcher: Dispatcher) -> bool:
    conversation = terminal.busy_conversation
    return conversation is not None and dispatcher.stop(conversation)


def _close_to_others(paths: Paths) -> None:
    """Nobody else reads what is kept, also where the folder was made by hand."""
    if closed := keep_private(paths.state_dir):
        told = "state folder: closed to others (files=%d, folder=%s)"
        _log.warning(told, closed, paths.state_dir)


@contextlib.contextmanager
def _chat_log(paths: Paths) -> Iterator[TextIO]:
    """Yield the file for a chat's records: its terminal is for the conversation alone."""
    path = paths.chat_log
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > MAX_CHAT_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8") as log:
        yield log
