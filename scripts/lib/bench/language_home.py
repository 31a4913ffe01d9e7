"""Home of a file of sentences: its entities as pins, and the tools that the agent makes of them.

Each entity is a pin named after its kind, with the entity's name as its alias. What is switched,
opened or locked is on or off; in files about levels it is an output with a share of on-time;
sensors are inputs; what no pin can be (players, vacuum cleaners, the weather) is none.
Two pins that no sentence names are always there. All tools are the agent's own.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from agent.app.tools import ToolParts, default_tools
from agent.link.manifest import MAX_NAME_CHARS, Manifest, read_manifest
from agent.messages import ToolSpec
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from agent.tools.board import BoardTools
from agent.tools.memory import MemoryForgetTool, MemoryRecallTool, MemoryStoreTool
from agent.tools.reminder import Reminders, ReminderSetTool
from agent.tools.settings import WebSettings
from agent.tools.timer import Timers, timer_tools
from firmware.host.describe import METHODS
from tests.fakes.board import FakeBoard

if TYPE_CHECKING:
    from agent.memory.base import Memory

# Nobody names them: whatever moves them is wrong
UNNAMED = ("relay", "pump")
# A board has no more pins; no file of the sentences has more entities
_MOST = 28
_INPUTS = frozenset({"binary_sensor"})
_OUTPUTS = frozenset(
    {"light", "switch", "fan", "script", "scene", "input_boolean", "cover", "valve", "lock"}
)
_LEVELS = frozenset({"HassLightSet", "HassFanSetSpeed", "HassSetPosition", "HassSetVolume"})
_CAN = {"switched": ["in", "out"], "level": ["pwm"], "input": ["in"]}
_METHODS = frozenset({"gpio_write", "gpio_read", "pwm_write", "mcu_temperature"})


@dataclass(frozen=True, slots=True)
class Thing:
    """One entity and the pin that it is."""

    pin: str
    name: str
    kind: str
    domain: str
    area: str


@dataclass(frozen=True)
class Home:
    """The pins of one file of sentences."""

    things: tuple[Thing, ...]

    @classmethod
    def of(cls, intent: str, told: Mapping[str, Any]) -> "Home":
        entities = [one for one in told.get("entities", []) if one["domain"] in _INPUTS | _OUTPUTS]
        return cls(tuple(_thing(place, intent, one) for place, one in enumerate(entities[:_MOST])))

    def named(self, name: str) -> list[Thing]:
        """The pins of a name; several entities may share one."""
        return [one for one in self.things if one.name == name]

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of an agent with these pins."""
        board = FakeBoard()
        board.learn(_manifest(self.things))
        return (*(tool.spec() for tool in BoardTools(board).tools()), *_other_tools())


def home_with_level(name: str, *aliases: str) -> Home:
    """A home whose one named pin takes a level."""
    things = [Thing(name, alias, "level", "fan", "") for alias in aliases or (name,)]
    return Home(tuple(things))


def _thing(place: int, intent: str, entity: Mapping[str, Any]) -> Thing:
    domain = entity["domain"]
    kind = "level" if intent in _LEVELS else "switched"
    kind = "input" if domain in _INPUTS else kind
    name = str(entity["name"])[:MAX_NAME_CHARS]
    return Thing(f"{domain}_{place}", name, kind, domain, str(entity.get("area", "")))


def _manifest(things: Sequence[Thing]) -> Manifest:
    pins = [
        {"name": one.pin, "aliases": [one.name] if one.name != one.pin else [], "kind": one.kind}
        for one in things
    ]
    pins += [{"name": name, "aliases": [], "kind": "switched"} for name in UNNAMED]
    described = {
        "manifest": 1,
        "board": "measured",
        "methods": [
            {key: value for key, value in one.items() if key != "needs"}
            for one in METHODS
            if one["name"] in _METHODS
        ],
        "events": [],
        "pins": [
            {
                "index": index,
                "name": one["name"],
                "pin": f"PB{index}",
                "aliases": one["aliases"],
                "can": _CAN[str(one["kind"])],
            }
            for index, one in enumerate(pins)
        ],
    }
    return read_manifest(msgspec.json.encode(described))


@cache
def _other_tools() -> tuple[ToolSpec, ...]:
    """Return the tools of every agent beside its boards; none is run here."""
    # Tools only keep it for when they are run
    memory = cast("Memory", None)
    paths = Paths(None, Path(tempfile.gettempdir()))
    around = ToolParts(WebSettings(), paths, SystemClock(), HttpClient(), ())
    kinds = (MemoryStoreTool, MemoryRecallTool, MemoryForgetTool)
    timed = (*timer_tools(cast("Timers", None)), ReminderSetTool(cast("Reminders", None)))
    tools = (*default_tools(around), *(kind(memory) for kind in kinds), *timed)
    return tuple(tool.spec() for tool in tools)
