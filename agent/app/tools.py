"""The tools of an agent besides those of its boards and its memory: made at the first turn.

Each is listed here by hand. A start that is never asked anything loads none of them.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from agent.hardware.watches import BoardWatcher
from agent.machine.readings import Readings
from agent.memory import snapshot
from agent.memory.base import Memory
from agent.memory.pdf import pages_of
from agent.net.http import HttpClient
from agent.peripherals.gpio import DEVICES, PiPins, trouble_with_pins
from agent.peripherals.i2c import I2cBuses, trouble_with_buses
from agent.security.environment import PATH
from agent.security.sandbox.base import Sandbox
from agent.security.web_addresses import WebRules
from agent.settings import Paths, Settings
from agent.system.clock import Clock
from agent.tools.ask_user import AskUserTool
from agent.tools.base import AnyTool
from agent.tools.camera import CameraCaptureTool, find_camera_program, trouble_with_camera
from agent.tools.content_search import ContentSearchTool
from agent.tools.cron import Jobs, cron_tools
from agent.tools.delegate import DelegateTool
from agent.tools.file_edit import FileEditTool
from agent.tools.file_pages import Transcribe
from agent.tools.files import FileListTool, FileReadTool, FileWriteTool
from agent.tools.git import GitTool, find_git
from agent.tools.glob_search import GlobSearchTool
from agent.tools.gpio import gpio_tools
from agent.tools.http_request import HttpRequestTool
from agent.tools.i2c import i2c_tools
from agent.tools.image_info import ImageInfoTool
from agent.tools.memory_export import MemoryExportTool
from agent.tools.picture_program import Album
from agent.tools.reminder import Reminders, ReminderSetTool
from agent.tools.screenshot import ScreenshotTool, find_display
from agent.tools.search_services import chosen
from agent.tools.send_message import Addressees, SendMessageTool, TextSender
from agent.tools.settings import (
    BrowserSettings,
    DelegateSettings,
    HomeAssistantSettings,
    ShellSettings,
    WebSettings,
)
from agent.tools.shell import ShellTool, Workshop
from agent.tools.skills import SkillsListTool, SkillViewTool, skills_of
from agent.tools.system import SystemInfoTool, TimeNowTool
from agent.tools.timer import Timers, timer_tools
from agent.tools.watch import WatchAddTool, WatchListTool, WatchRemoveTool
from agent.tools.web import Lookup, Web, look_up
from agent.tools.web_fetch import WebFetchTool
from agent.tools.web_search import WebSearchTool


class ToolParts(Struct, frozen=True):
    """Parts that tools are made of."""

    web: WebSettings
    paths: Paths
    clock: Clock
    http: HttpClient
    watchers: Sequence[BoardWatcher]
    pins: PiPins | None = None
    buses: I2cBuses | None = None
    devices: Path = DEVICES
    agents: Mapping[str, DelegateSettings] = field(default_factory=dict)
    memory: Memory | None = None
    addressees: Addressees | None = None
    post: TextSender | None = None
    jobs: Jobs | None = None
    timers: Timers | None = None
    reminders: Reminders | None = None
    # Those that answer from what was recorded
    readings: tuple[AnyTool, ...] = ()
    # Home Assistant; None where none is configured
    home: HomeAssistantSettings | None = None
    # A browser; None where none is configured
    browser: BrowserSettings | None = None
    shell: ShellSettings = field(default_factory=ShellSettings)
    # None where nothing keeps programs apart
    sandbox: Sandbox | None = None
    # None where no speech service is configured
    transcribe: Transcribe | None = None
    # Where names of hosts are looked up, and where programs are
    lookup: Lookup = look_up
    search: str = PATH
    # What says whether there is a screen
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def transcription(around: ToolParts, settings: Settings) -> Transcribe | None:
    """Return what writes recordings down; None if it is not configured."""
    if settings.channels.speech is None:
        return None
    from agent.channels.speech.engines import SpeechParts, open_recogniser  # noqa: PLC0415 - most agents have none
    from agent.channels.speech.grammar import names_of  # noqa: PLC0415 - as above

    names = partial(names_of, around.watchers)
    parts = SpeechParts(around.environ, around.http, around.paths.workspace, names)
    engine = open_recogniser(settings.channels.speech, parts)
    return None if engine is None else engine.words


def default_tools(around: ToolParts) -> tuple[AnyTool, ...]:
    """Return the tools of every agent, whatever is configured and wherever it runs."""
    workspace = around.paths.workspace
    return (
        AskUserTool(),
        ContentSearchTool(workspace, around.sandbox),
        FileEditTool(workspace),
        FileListTool(workspace),
        FileReadTool(workspace, partial(pages_of, sandbox=around.sandbox), around.transcribe),
        FileWriteTool(workspace),
        GlobSearchTool(workspace),
        ImageInfoTool(workspace),
        SystemInfoTool(Readings(around.paths.state_dir)),
        TimeNowTool(around.clock),
        *_web_tools(around),
    )


def all_tools(around: ToolParts) -> tuple[AnyTool, ...]:
    """Those, and what the configuration and this machine let it have."""
    workspace = around.paths.workspace
    return (
        *default_tools(around),
        *([DelegateTool(around.agents)] if around.agents else []),
        *([MemoryExportTool(around.memory, workspace, snapshot.whole)] if around.memory else []),
        *(cron_tools(around.jobs) if around.jobs else []),
        *(timer_tools(around.timers) if around.timers else []),
        *([ReminderSetTool(around.reminders)] if around.reminders else []),
        *around.readings,
        *_home_tools(around),
        *_browser_tools(around),
        *_message_tools(around),
        *_picture_tools(around),
        *_skill_tools(around),
        *_pin_tools(around),
        *_programs(around),
        *_watch_tools(around.watchers),
    )


def _home_tools(around: ToolParts) -> list[AnyTool]:
    if around.home is None:
        return []
    from agent.app.home import tools_of  # noqa: PLC0415 - for those who have one

    return tools_of(around.home, around.environ, around.http, around.clock)


def _browser_tools(around: ToolParts) -> list[AnyTool]:
    if around.browser is None:
        return []
    from agent.app.browser import tools_of  # noqa: PLC0415 - for those who want one

    album = Album(around.paths.workspace, around.clock)
    return tools_of(around.browser, _web(around), album, Readings(around.paths.state_dir))


def _message_tools(around: ToolParts) -> list[AnyTool]:
    if around.addressees is None or around.post is None:
        return []
    return [SendMessageTool(around.addressees, around.post)]


def _picture_tools(around: ToolParts) -> list[AnyTool]:
    """Of the camera and the screen, where there is one."""
    album = Album(around.paths.workspace, around.clock)
    tools: list[AnyTool] = []
    program = find_camera_program(around.search)
    if program and not trouble_with_camera(around.devices, around.search):
        tools.append(CameraCaptureTool(program, album))
    display = find_display(around.environ, around.search)
    if not display.trouble:
        tools.append(ScreenshotTool(display, album))
    return tools


def _skill_tools(around: ToolParts) -> list[AnyTool]:
    """Only where somebody has put a folder there: nothing is to be found otherwise."""
    skills = skills_of(around.paths.workspace, around.paths.state_dir)
    if not any(place.is_dir() for place in skills.places):
        return []
    return [SkillsListTool(skills), SkillViewTool(skills)]


def _pin_tools(around: ToolParts) -> list[AnyTool]:
    """Of this machine's own pins and buses, as far as they are configured and there."""
    tools: list[AnyTool] = []
    if around.pins and around.pins.pins and not trouble_with_pins(around.devices):
        tools += gpio_tools(around.pins)
    if around.buses and around.buses.devices and not trouble_with_buses(around.devices):
        tools += i2c_tools(around.buses)
    return tools


def _programs(around: ToolParts) -> list[AnyTool]:
    if around.sandbox is None:
        return []
    workshop = Workshop(around.sandbox, around.paths.workspace, around.shell)
    tools: list[AnyTool] = [ShellTool(workshop)]
    return [*tools, GitTool(workshop)] if find_git() else tools


def _watch_tools(watchers: Sequence[BoardWatcher]) -> list[AnyTool]:
    kinds = (WatchAddTool, WatchListTool, WatchRemoveTool)
    return [kind(watcher) for watcher in watchers for kind in kinds]


def _web(around: ToolParts) -> Web:
    return Web(around.http, WebRules(around.web.allow, around.web.local), around.lookup)


def _web_tools(around: ToolParts) -> list[AnyTool]:
    web = _web(around)
    tools: list[AnyTool] = [HttpRequestTool(web), WebFetchTool(web, around.sandbox)]
    if (service := chosen(around.web)) is not None:
        # Whom the owner chose need not be listed, and may be at home
        spots = tuple(wanted.spot for wanted in around.web.search.values())
        own = Web(around.http, WebRules(local=spots), around.lookup)
        tools.append(WebSearchTool(own, service))
    return tools
