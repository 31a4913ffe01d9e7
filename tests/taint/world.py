"""One world with every kind of thing that a tool reads, and a canary at one source of it.

The tools come from where the agent gets them: a new one is there without a line here, or the test
says that it is missing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import httpx

from agent.app.tools import ToolParts, all_tools
from agent.devices.caller import DeviceCaller
from agent.devices.tools import DeviceTools
from agent.hardware.watches import BoardWatcher
from agent.net.http import HttpClient
from agent.peripherals.gpio import PiPins
from agent.peripherals.i2c import I2cBuses
from agent.peripherals.settings import I2cSettings, PiPinSettings
from agent.schedule.job_book import JobBook
from agent.schedule.job_store import JobStore
from agent.schedule.reminder_book import ReminderBook
from agent.schedule.timer import Instant
from agent.schedule.timer_book import TimerBook
from agent.schedule.timer_store import TimerStore
from agent.settings import Paths
from agent.tools.base import AnyTool
from agent.tools.board import BoardTools
from agent.tools.browser.tools import browser_tools
from agent.tools.datasheet import DatasheetSearchTool
from agent.tools.gpio import gpio_tools
from agent.tools.home_assistant.entities import EntityRules
from agent.tools.home_assistant.tools import home_tools
from agent.tools.i2c import i2c_tools
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.tool import McpTool
from agent.tools.memory import MemoryForgetTool, MemoryRecallTool, MemoryStoreTool
from agent.tools.memory_sources import MemoryListTool, MemorySourceTool
from agent.tools.picture_program import Album
from agent.tools.readings import ReadingDesk, ReadingsListTool, ReadingsQueryTool
from agent.tools.readings_draw import ReadingArtist, ReadingsDrawTool
from agent.tools.reflex import ReflexTools
from agent.tools.settings import DelegateSettings, SearchSettings, WebSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.owner import ListeningOwner
from tests.fakes.pi_pins import FakePi
from tests.fakes.resolver import PUBLIC
from tests.taint.browser import PlantedBrowser
from tests.taint.hardware import PlantedBoard, PlantedEvents, buses, line
from tests.taint.planting import CANARY, World
from tests.taint.things import (
    PlantedDevice,
    PlantedHome,
    PlantedLibrary,
    PlantedMemory,
    PlantedPeople,
    PlantedPost,
    PlantedRecord,
    PlantedSandbox,
    PlantedServer,
    answered,
    jobs,
    lay_out,
    programs,
    timers,
    watch,
)


@asynccontextmanager
async def world(folder: Path, planted: str, text: str = CANARY) -> AsyncIterator[World]:
    """Its files are written, and its watches are at work."""
    made = World(folder, planted, text)
    lay_out(made)
    watcher = BoardWatcher(PlantedEvents(made), {}, folder / "watches.json", SteppedClock())
    watching = asyncio.create_task(watcher.run(ListeningOwner()))
    http = HttpClient(httpx.MockTransport(partial(answered, made)))
    try:
        await watch(made, watcher)
        around = _surroundings(made, http, watcher)
        made.board = board = PlantedBoard(made)
        made.board_tools, made.reflexes = BoardTools(board), ReflexTools(board)
        # Where a library of the hardware is missing its tools are left out: here they are wanted
        wired = [*gpio_tools(around.pins or PiPins({})), *i2c_tools(around.buses or I2cBuses({}))]
        every = [*wired, *all_tools(around), *_further(made)]
        made.tools = list({tool.name: tool for tool in every}.values())
        yield made
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await http.aclose()


def _surroundings(made: World, http: HttpClient, watcher: BoardWatcher) -> ToolParts:
    folder = made.folder
    devices = folder / "dev"
    devices.mkdir()
    for name in ("gpiochip0", "i2c-1", "v4l-subdev0"):
        (devices / name).touch()
    memory = PlantedMemory(made)
    store = JobStore(folder / "jobs.json")
    for job in jobs(made):
        store.add(job)
    timer_store = TimerStore(folder / "timers.json")
    for timer in timers(made):
        timer_store.add(timer)
    timer_book = TimerBook(timer_store, lambda: _NOW)
    book = JobBook(store, SteppedClock())
    made.pi = FakePi({"fan": PiPinSettings(gpio=17, kind="output")}, line(made))
    return ToolParts(
        WebSettings(search={"duckduckgo": SearchSettings()}),
        Paths(None, folder),
        SteppedClock(),
        http,
        (watcher,),
        pins=made.pi.owner(),
        buses=I2cBuses({"sensor": I2cSettings(address=0x76, write="actuate")}, buses(made)),
        devices=devices,
        agents={"reader": DelegateSettings(tools=("web_fetch",))},
        memory=memory,
        addressees=PlantedPeople(made),
        post=PlantedPost(made),
        jobs=book,
        timers=timer_book,
        reminders=ReminderBook(book, timer_book, SteppedClock(), lambda text, _: text),
        sandbox=PlantedSandbox(made),
        environ={"DISPLAY": ":0"},
        lookup=_looked_up,
        search=programs(made),
    )


def _further(made: World) -> list[AnyTool]:
    """What is composed elsewhere: memory and the servers of others."""
    memory, library = PlantedMemory(made), PlantedLibrary(made)
    desk = ReadingDesk(PlantedRecord(made), SteppedClock(), dict)
    artist = ReadingArtist(desk, made.folder, lambda _name: (), PlantedSandbox(made))
    offer = ToolOffer("garden", "look", "mcp_garden_look", "Looks.", _NO_FIELDS, "digest")
    return [
        *browser_tools(PlantedBrowser(made), Album(made.workspace, SteppedClock())),
        DatasheetSearchTool(library),
        *far_tools(made),
        *home_tools(PlantedHome(made), EntityRules({"light.*": "actuate"}), SteppedClock()),
        McpTool(offer, PlantedServer(made), reads=True),
        MemoryForgetTool(memory),
        MemoryListTool(memory),
        MemoryRecallTool(memory, library),
        MemorySourceTool(memory),
        MemoryStoreTool(memory),
        ReadingsDrawTool(artist),
        ReadingsListTool(desk),
        ReadingsQueryTool(desk),
    ]


def far_tools(made: World) -> tuple[AnyTool, ...]:
    """Return the tools of another device, as its greeting makes them."""
    tools = DeviceTools(cast("DeviceCaller", PlantedDevice(made)), ())
    tools.follow()
    return tools.tools()


# A clock that can be gone by
_NOW = Instant(1_790_000_000.0, 0.0, "boot", is_trusted=True)
_NO_FIELDS: dict[str, object] = {"type": "object", "properties": {}}


async def _looked_up(_host: str, _port: int) -> list[str]:
    return [PUBLIC]
