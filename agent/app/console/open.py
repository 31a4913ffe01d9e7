"""The console of an agent, composed: its channel, its door, and the data of its pages."""

import socket
from collections.abc import Mapping, Sequence

from agent.access.browser_sessions import BrowserSessions
from agent.access.door_button import DoorButton
from agent.access.roles import PersonRole
from agent.app.build import Agent
from agent.app.console.board import BoardView
from agent.app.console.channel import ConsoleChannel
from agent.app.console.files import ConsoleFiles
from agent.app.console.first_start import FirstStart
from agent.app.console.home import HomeView
from agent.app.console.reception import ConsoleParts, ConsoleView
from agent.app.console.records import RecordViews
from agent.app.console.settings import SettingsViews
from agent.app.console.settings_program import ask_program
from agent.app.console.signal_link import SignalLink
from agent.app.console.talk import TalkView
from agent.app.console.upkeep import UpkeepViews
from agent.app.console.workings import WorkingViews
from agent.channels.attached.socket import socket_path
from agent.channels.console.frames import SOCKET, VERSION, DeviceFrame
from agent.channels.received_files import ReceivedFiles
from agent.gateway.hosts import called
from agent.gateway.settings import ConsoleSettings
from agent.messaging.channel_supervisor import Supervisor
from agent.system.recent_log import RecentLog


def open_console(
    wanted: ConsoleSettings,
    agent: Agent,
    supervisors: Sequence[Supervisor],
    environ: Mapping[str, str],
) -> ConsoleChannel:
    """Return the channel of the browsers; nothing listens before the agent is at work.

    Args:
        supervisors: of the channels; they may be added later.
    """
    sessions = BrowserSessions(agent.access.pairing, agent.clock, DoorButton(agent.button))
    agent.access.pairing.let_browser_in = sessions.let_in
    device, files = _device(wanted, agent), _files(agent)
    board, records = BoardView(agent, files), RecordViews(agent, sessions)
    workings = WorkingViews(agent, supervisors, RecentLog(agent.redactor.redact), environ)
    settings, upkeep = SettingsViews(agent, ask_program), UpkeepViews(agent)
    first, link = FirstStart(agent), SignalLink(agent)
    views = {
        "home": ConsoleView(PersonRole.GUEST, HomeView(agent, board).read),
        "talk": ConsoleView(PersonRole.GUEST, TalkView(agent.journal).read),
        "board": ConsoleView(PersonRole.USER, board.read),
        "reflexes": ConsoleView(PersonRole.USER, board.reflexes),
        "readings": ConsoleView(PersonRole.USER, records.readings),
        "jobs": ConsoleView(PersonRole.USER, records.jobs),
        "memory": ConsoleView(PersonRole.GUEST, records.memory),
        "audit": ConsoleView(PersonRole.OWNER, records.audit),
        "people": ConsoleView(PersonRole.OWNER, records.people),
        "models": ConsoleView(PersonRole.OWNER, workings.models),
        "channels": ConsoleView(PersonRole.OWNER, workings.channels),
        "signal_link": ConsoleView(PersonRole.OWNER, link.read),
        "log": ConsoleView(PersonRole.OWNER, workings.log),
        "revoke": ConsoleView(PersonRole.OWNER, records.revoke),
        "setup": ConsoleView(PersonRole.OWNER, first.read),
        "settings": ConsoleView(PersonRole.OWNER, settings.read),
        "upkeep": ConsoleView(PersonRole.OWNER, upkeep.read),
    }
    acts = {
        "rehearse": ConsoleView(PersonRole.USER, board.rehearse),
        "settings_check": ConsoleView(PersonRole.OWNER, settings.check),
        "settings_take": ConsoleView(PersonRole.OWNER, settings.take),
        "setup_begin": ConsoleView(PersonRole.OWNER, first.begin),
        "setup_answer": ConsoleView(PersonRole.OWNER, first.answer),
        "signal_link": ConsoleView(PersonRole.OWNER, link.begin),
        "upkeep_backup": ConsoleView(PersonRole.OWNER, upkeep.back_up),
    }
    parts = ConsoleParts(device, sessions, views, acts, files, (link.aclose,))
    return _channel(agent, environ, parts)


def _device(wanted: ConsoleSettings, agent: Agent) -> DeviceFrame:
    name, machine = agent.settings.agent.name, socket.gethostname()
    hosts = (machine, f"{machine}.local", *map(called, wanted.hosts))
    return DeviceFrame(VERSION, name, wanted.listen, hosts, wanted.certificate, wanted.key)


def _channel(agent: Agent, environ: Mapping[str, str], parts: ConsoleParts) -> ConsoleChannel:
    place = socket_path(environ, agent.paths.state_dir, SOCKET)
    return ConsoleChannel(place, agent.paths.state_dir, agent.clock, parts)


def _files(agent: Agent) -> ConsoleFiles:
    folders = (agent.paths.workspace, agent.paths.inbox)
    return ConsoleFiles(ReceivedFiles(agent.paths.inbox), agent.journal, folders, agent.clock)
