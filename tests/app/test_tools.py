import importlib.util
import json
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from agent.app.tools import ToolParts, all_tools, default_tools
from agent.messages import Effect
from agent.messaging.tool_messages import ToolMessages
from agent.net.http import HttpClient
from agent.peripherals.gpio import PiPins
from agent.peripherals.i2c import I2cBuses
from agent.peripherals.settings import I2cSettings, PiPinSettings
from agent.providers.offline.toolbox import toolbox
from agent.schedule.job_book import JobBook
from agent.schedule.job_store import JobStore
from agent.security.paths import HERE
from agent.settings import Paths
from agent.tools.base import AnyTool
from agent.tools.git import find_git
from agent.tools.registry import Registry
from agent.tools.search import MAX_FOUND, best
from agent.tools.selection import MAX_SHOWN_BYTES, ToolSelection
from agent.tools.send_message import NobodyPaired
from agent.tools.settings import DelegateSettings, SearchSettings, WebSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.many_tools import many_tools
from tests.fakes.memory import PreparedMemory
from tests.fakes.picture_programs import install
from tests.fakes.sandbox import EchoingSandbox
from tests.fakes.skill_folders import put
from tests.fakes.workspace import used

EFFECTS = {
    "ask_user": Effect.READ,
    "content_search": Effect.READ,
    "file_edit": Effect.WRITE,
    "file_list": Effect.READ,
    "file_read": Effect.READ,
    "file_write": Effect.WRITE,
    "glob_search": Effect.READ,
    "http_request": Effect.NETWORK,
    "image_info": Effect.READ,
    "system_info": Effect.READ,
    "time_now": Effect.READ,
    "web_fetch": Effect.NETWORK,
}
# Whose arguments cannot be filled from the words of an order
FOR_MODELS = {
    *("ask_user", "content_search", "file_edit", "glob_search", "http_request", "image_info"),
    "web_fetch",
}


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, AnyTool]:
    paths = Paths(None, tmp_path)
    paths.workspace.mkdir()
    (paths.workspace / "a.txt").write_text("pump")
    around = ToolParts(
        *(WebSettings(), paths, SteppedClock(), HttpClient(), ()), devices=tmp_path, environ={}
    )
    return {tool.name: tool for tool in all_tools(around)}


def test_every_tool_says_what_it_can_do(tools: dict[str, AnyTool]) -> None:
    assert {name: tool.effect for name, tool in tools.items()} == EFFECTS


def test_every_tool_has_a_schema_that_refuses_what_it_does_not_know(
    tools: dict[str, AnyTool],
) -> None:
    for tool in tools.values():
        parameters = tool.spec().parameters
        assert (parameters["type"], parameters["additionalProperties"]) == ("object", False)
        assert 20 < len(tool.description.text) < 120, tool.name


def test_words_alone_never_choose_a_tool_that_takes_a_model(tools: dict[str, AnyTool]) -> None:
    box = toolbox([tool.spec() for tool in tools.values()])
    assert {one.name for one in box.profiles} - {one.name for one in box.speakable} == FOR_MODELS


async def test_they_work_in_the_workspace_of_the_agent(tools: dict[str, AnyTool]) -> None:
    found = await used(tools["content_search"], query="pump", path=HERE)
    assert json.loads(found.text)["found"] == [{"path": "a.txt", "line": 1, "text": "pump"}]
    assert (await used(tools["file_edit"], path="a.txt", old="pump", new="lamp")).success
    assert (await used(tools["file_read"], path="a.txt")).text.find("lamp") > 0
    assert json.loads((await used(tools["glob_search"], pattern="*")).text)["paths"] == ["a.txt"]


def test_the_web_is_searched_only_by_whom_the_owner_chose(tmp_path: Path) -> None:
    duckduckgo = WebSettings(search={"duckduckgo": SearchSettings()})
    for settings, count in ((WebSettings(), 0), (duckduckgo, 1)):
        around = ToolParts(settings, Paths(None, tmp_path), SteppedClock(), HttpClient(), ())
        assert [one.name for one in all_tools(around)].count("web_search") == count


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        ((), set()),
        (("gpiochip0",), {"gpio_list", "gpio_read", "gpio_write"}),
        (("i2c-1",), {"i2c_scan", "i2c_read"}),
    ],
)
def test_pins_of_this_machine_are_tools_only_where_they_are_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    devices: tuple[str, ...],
    found: set[str],
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: "found")
    for device in devices:
        (tmp_path / device).touch()
    around = ToolParts(
        WebSettings(),
        Paths(None, tmp_path),
        SteppedClock(),
        HttpClient(),
        (),
        pins=PiPins({"fan": PiPinSettings(gpio=17)}),
        buses=I2cBuses({"sensor": I2cSettings(address=0x76)}),
        devices=tmp_path,
    )
    names = {one.name for one in all_tools(around)}
    assert {name for name in names if name.startswith(("gpio_", "i2c_"))} == found
    none = structs.replace(around, pins=PiPins({}), buses=None)
    assert not {one.name for one in all_tools(none)} & found


def test_other_agents_can_be_asked_only_where_there_are_some(tmp_path: Path) -> None:
    none = ToolParts(WebSettings(), Paths(None, tmp_path), SteppedClock(), HttpClient(), ())
    some = structs.replace(none, agents={"reader": DelegateSettings()})
    for around, count in ((none, 0), (some, 1)):
        tools = all_tools(around)
        assert [one.name for one in tools].count("delegate") == count
        box = toolbox([tool.spec() for tool in tools])
        assert "delegate" not in {one.name for one in box.speakable}


def test_what_every_agent_has_needs_no_configuration_and_no_hardware(tmp_path: Path) -> None:
    bare = ToolParts(
        *(WebSettings(), Paths(None, tmp_path), SteppedClock(), HttpClient(), ()),
        devices=tmp_path,
        environ={},
    )
    assert {one.name for one in default_tools(bare)} == set(EFFECTS)
    assert [one.name for one in all_tools(bare)] == [one.name for one in default_tools(bare)]


ORDERS = {
    "ask_user": "ask the person a question",
    "delegate": "have another agent do a task",
    "gpio_list": "the raspberry pi's own pins",
    "gpio_write": "switch an output of the raspberry pi on",
    "i2c_read": "read bytes from a device on the i2c bus",
    "i2c_scan": "which addresses answer on an i2c bus",
    "i2c_write": "write bytes to a device on the i2c bus",
    "memory_export": "write memories into a file",
    "send_message": "write to another person",
    "web_search": "search the web",
}


def everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AnyTool, ...]:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: "found")
    for device in ("gpiochip0", "i2c-1"):
        (folder / device).touch()
    around = ToolParts(
        WebSettings(search={"duckduckgo": SearchSettings()}),
        Paths(None, folder),
        SteppedClock(),
        HttpClient(),
        (),
        pins=PiPins({"fan": PiPinSettings(gpio=17)}),
        buses=I2cBuses({"relay": I2cSettings(address=0x20, write="hazard")}),
        devices=folder,
        agents={"reader": DelegateSettings(about="reads long pages")},
        memory=PreparedMemory(),
        addressees=NobodyPaired(),
        post=ToolMessages(),
    )
    return all_tools(around)


def test_what_a_model_is_not_shown_at_first_is_found_by_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = everything(tmp_path, monkeypatch)
    specs = Registry([*tools, *many_tools()]).specs()
    shown = ToolSelection(Registry([*tools, *many_tools()])).divide([]).shown
    assert sum(len(msgspec.json.encode(spec)) for spec in shown) < MAX_SHOWN_BYTES + 1024
    assert not {spec.name for spec in shown} & set(ORDERS)
    for name, order in ORDERS.items():
        assert name in {spec.name for spec in best(order, specs, MAX_FOUND)}, name


def test_programs_are_tools_only_where_something_keeps_them_apart(tmp_path: Path) -> None:
    around = ToolParts(
        *(WebSettings(), Paths(None, tmp_path), SteppedClock(), HttpClient(), ()), environ={}
    )
    without = {tool.name for tool in all_tools(around)}
    sandboxed = structs.replace(around, sandbox=EchoingSandbox(tmp_path))
    found = {tool.name: tool for tool in all_tools(sandboxed)}
    assert found.keys() - without == {"shell", "git"} if find_git() else {"shell"}
    specs = [tool.spec() for name, tool in found.items() if name not in without]
    assert not toolbox(specs).speakable


def test_jobs_are_ordered_where_something_runs_them(tmp_path: Path) -> None:
    paths = Paths(None, tmp_path)
    book = JobBook(JobStore(tmp_path / "jobs.json"), SteppedClock())
    around = ToolParts(WebSettings(), paths, SteppedClock(), HttpClient(), (), jobs=book)
    names = {tool.name for tool in all_tools(around)}
    assert {name for name in names if name.startswith("cron_")} == {
        *("cron_add", "cron_list", "cron_pause", "cron_remove", "cron_run")
    }


def test_a_camera_a_screen_and_skills_are_tools_only_where_they_are_there(
    tmp_path: Path,
) -> None:
    around = ToolParts(
        *(WebSettings(), Paths(None, tmp_path), SteppedClock(), HttpClient(), ()),
        devices=tmp_path / "dev",
        environ={},
    )
    without = {tool.name for tool in all_tools(around)}
    search = install(tmp_path / "bin", "rpicam-still", "working")
    install(tmp_path / "bin", "grim", "working")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "v4l-subdev0").touch()
    put(tmp_path / "workspace" / "skills")
    with_all = structs.replace(around, environ={"WAYLAND_DISPLAY": "wayland-0"}, search=search)
    tools = {tool.name: tool for tool in all_tools(with_all)}
    assert tools.keys() - without == {"camera_capture", "screenshot", "skills_list", "skill_view"}
    specs = [tool.spec() for name, tool in tools.items() if name not in without]
    assert not toolbox(specs).speakable
