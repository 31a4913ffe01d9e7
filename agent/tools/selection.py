"""Choice of the tools that a request shows; the others wait behind a search.

In a small window there is no room for a search: the tools that the sentence may need are shown.

Nothing is kept: what was found stands in the conversation itself, so it is known again after a
restart and forgotten with the conversation. Every tool that exists can be called, shown or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from agent.messages import ChatMessage, Role, ToolSpec
from agent.passage import Passage
from agent.tools.base import AnyTool
from agent.tools.registry import Registry
from agent.tools.search import TOOL_SEARCH, ToolSearchTool, nearest

# By name, or by how a board's tool ends whatever the board is called
ALWAYS_SHOWN: Mapping[str, str] = {
    "*_info": "the wiring of the board must be known before any action",
    "*_gpio_write": "most orders switch something on or off",
    "*_gpio_read": "people ask for the state of outputs as often",
    "time_now": "every question about today needs it, and it is the smallest tool",
    "memory_recall": "people expect the agent to remember without being told to search",
    "memory_store": "a fact that is not stored at once is lost",
    "file_read": "it reads the rest of long results",
    "*_adc_read": "most simple sensors are a voltage",
    "*_mcu_temperature": "the one measurement that every board has",
    "system_info": "people ask for it when the device is in trouble",
    "file_list": "reading a file needs its name",
    "file_write": "lists and notes are kept in files",
    "*_climate_read": "sensors for temperature and humidity are the most common",
    "watch_add": "without it a model takes an order for later as one for now",
}


# Looked up here once, not for each message of each request: a member of an enum is slow to find
_TOOL = Role.TOOL
# With the prompt and a short message a request then stays within 8 KiB
MAX_SHOWN_BYTES = 5888
# What services wrap around each tool
_WRAPPING_BYTES = 60
# A conversation that has used more than this gets on with what it found last
MAX_FOUND_KEPT = 12
# In a small window so many of them: "and off again" needs what was used before
MAX_FOUND_IN_SMALL = 2
# Schemas are JSON, which takes more tokens than prose
_BYTES_PER_TOKEN = 3


class Division(Struct, frozen=True):
    """All tools in order of their names, split into shown and waiting."""

    shown: tuple[ToolSpec, ...]
    waiting: tuple[ToolSpec, ...] = ()

    @property
    def tokens(self) -> int:
        """Return the estimated cost of those shown."""
        return sum(map(_bytes_of, self.shown)) // _BYTES_PER_TOKEN


class _Named(msgspec.Struct):
    name: str


class _Naming(msgspec.Struct):
    """A result that names tools: `tools` from a search, `nearest` from an unknown name."""

    tools: list[_Named] = []
    nearest: list[str] = []


class ToolSelection:
    """The tools of a registry, and a search among them when they do not all fit."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._plan = _Plan(())
        self._search = ToolSearchTool(registry.specs)

    def find(self, name: str) -> AnyTool | None:
        return self._search if name == TOOL_SEARCH else self._registry.find(name)

    def nearest(self, name: str) -> list[Passage]:
        specs = self._registry.specs()
        about = {spec.name: spec.about for spec in specs}
        return [about[one].saying(one) for one in nearest(name, specs)]

    def divide(self, messages: Sequence[ChatMessage]) -> Division:
        """Return the tools that a request with these messages shows."""
        specs = self._registry.specs()
        if not self._plan.is_for(specs):
            self._plan = self._planned(specs)
        plan = self._plan
        if plan.search is None:
            return Division(specs)
        shown = plan.always | _found(messages, plan.names - plan.always)
        return Division(
            tuple(sorted([plan.search, *(s for s in specs if s.name in shown)], key=_name_of)),
            tuple(spec for spec in specs if spec.name not in shown),
        )

    async def fitting(self, messages: Sequence[ChatMessage], most_tokens: int) -> Division:
        """Return the tools that the last message may need, as far as there is room."""
        specs = self._registry.specs()
        room = most_tokens * _BYTES_PER_TOKEN
        if sum(map(_bytes_of, specs)) <= room:
            return Division(specs)
        by_name = {spec.name: spec for spec in specs}
        sentence = next((one.text for one in reversed(messages) if one.begins_turn), "")
        used = _used(messages, frozenset(by_name))
        ranked = await self._registry.ranking.ranked(sentence, specs)
        shown: set[str] = set()
        for spec in (*(by_name[name] for name in used), *ranked):
            if spec.name not in shown and (size := _bytes_of(spec)) <= room:
                room -= size
                shown.add(spec.name)
        return Division(
            tuple(spec for spec in specs if spec.name in shown),
            tuple(spec for spec in specs if spec.name not in shown),
        )

    def _planned(self, specs: tuple[ToolSpec, ...]) -> "_Plan":
        names = frozenset(map(_name_of, specs))
        if sum(map(_bytes_of, specs)) <= MAX_SHOWN_BYTES:
            return _Plan(specs, names, names)
        always = frozenset(_always(specs))
        further = [spec for spec in specs if spec.name not in always]
        return _Plan(specs, names, always, self._search.spec_naming(further))


class _Plan(Struct, frozen=True):
    """Tools shown before anything was found; made once for each set of tools.

    Args:
        search: None where all are shown.
    """

    specs: tuple[ToolSpec, ...]
    names: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    search: ToolSpec | None = None

    def is_for(self, specs: tuple[ToolSpec, ...]) -> bool:
        return len(specs) == len(self.specs) and all(map(_are_same, specs, self.specs))


def _always(specs: Sequence[ToolSpec]) -> Iterator[str]:
    """Yield the most needed tools while there is room."""
    room = MAX_SHOWN_BYTES
    for pattern in ALWAYS_SHOWN:
        for spec in specs:
            if fnmatchcase(spec.name, pattern) and (size := _bytes_of(spec)) <= room:
                room -= size
                yield spec.name


def _found(messages: Sequence[ChatMessage], names: frozenset[str]) -> set[str]:
    """Return the tools that the conversation found or used last."""
    found: dict[str, None] = {}
    for message in messages:
        if message.role is _TOOL:
            for name in _named_by(message, names):
                # Once more at the end: what is in use stays
                found.pop(name, None)
                found[name] = None
    return set(list(found)[-MAX_FOUND_KEPT:])


def _used(messages: Sequence[ChatMessage], names: frozenset[str]) -> list[str]:
    """Return the tools of the turn that is going on, then the last ones before it."""
    begun = max((at for at, one in enumerate(messages) if one.begins_turn), default=0)
    now = [one.tool_name for one in messages[begun:] if one.role is _TOOL]
    before = [one.tool_name for one in reversed(messages[:begun]) if one.role is _TOOL]
    recent = list(dict.fromkeys(before))[:MAX_FOUND_IN_SMALL]
    return [name for name in dict.fromkeys([*now, *recent]) if name in names]


def _named_by(message: ChatMessage, names: frozenset[str]) -> list[str]:
    if message.tool_name in names:
        return [message.tool_name]
    if message.tool_name != TOOL_SEARCH and not message.is_error:
        return []
    try:
        # An error stands behind a word that says so
        naming = msgspec.json.decode(message.text[message.text.find("{") :], type=_Naming)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    named = [*(one.name for one in naming.tools), *naming.nearest]
    return [name for name in named if name in names]


def _name_of(spec: ToolSpec) -> str:
    return spec.name


def _are_same(one: ToolSpec, other: ToolSpec) -> bool:
    # Schemas are made once for each type of arguments: another one is another object
    same_schema = one.parameters is other.parameters
    return same_schema and (one.name, one.description) == (other.name, other.description)


def _bytes_of(spec: ToolSpec) -> int:
    told = (spec.name, spec.description, spec.parameters)
    return len(msgspec.json.encode(told)) + _WRAPPING_BYTES
