"""Tools for Home Assistant: list entities, look at one, call a service on one.

What Home Assistant says is anybody's words: a lamp may be called whatever its maker, or a
neighbour's radio, wants. Only a state that is one of our own words, or a number, is none.
"""

import contextlib
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta
from msgspec import field as struct_field

from agent.errors import BadArguments, BarnacleError, OutcomeUnknown
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, configured, echo, fields, outside, own
from agent.security.shares import READINGS
from agent.system.clock import Clock
from agent.text.printable import printable_line
from agent.tools.base import AnyTool, Arguments, FieldsTool, Tool, ToolContext
from agent.tools.home_assistant.client import HomeAssistant, HomeState
from agent.tools.home_assistant.entities import (
    SERVICES,
    EntityRules,
    domain_of,
    is_hazardous,
    state_after,
)

# Some four thousand tokens
MAX_LISTED = 60
MAX_NAMED_PATTERNS = 40
MAX_ATTRIBUTES = 30
MAX_VALUE_CHARS = 200
MAX_DATA = 10
# A device that confirms its state does so within this; a cover is still on its way then
READ_BACK_S = 4.0
READ_BACK_EVERY_S = 0.25
# Words of states, which can order nothing
STATE_WORDS = frozenset(
    {
        *("on", "off", "open", "closed", "opening", "closing", "locked", "unlocked", "locking"),
        *("unlocking", "jammed", "home", "not_home", "idle", "playing", "paused", "standby"),
        *("unavailable", "unknown", "heat", "cool", "heat_cool", "auto", "dry", "fan_only"),
        *("armed_away", "armed_home", "armed_night", "arming", "disarmed", "pending", "triggered"),
        *("cleaning", "docked", "returning", "error", "mowing", "active", "detected", "clear"),
    }
)
# On their way to another one
_PASSING = frozenset({"opening", "closing", "locking", "unlocking", "arming", "pending"})
# Of a device that is away
_UNREACHED = "unavailable"
# They name further things to act on
_TARGETS = ("entity_id", "device_id", "area_id", "floor_id", "label_id", "target")

EntityId = Annotated[
    str,
    Meta(pattern=r"^[a-z0-9_]{1,60}\.[a-z0-9_]{1,120}\Z", description="such as light.desk"),
]
_Word = Annotated[str, Meta(max_length=60)]
_Value = bool | int | float | Annotated[str, Meta(max_length=MAX_VALUE_CHARS)]
# A colour
_Numbers = Annotated[list[int | float], Meta(max_length=5)]
_Data = Annotated[
    dict[Annotated[str, Meta(pattern=r"^[a-z0-9_]{1,40}\Z")], _Value | _Numbers],
    Meta(max_length=MAX_DATA, description="options, such as brightness_pct of a light"),
]


class ListArguments(Arguments, frozen=True):
    """Filters of the list; an empty one lets all pass."""

    area: _Word = ""
    domain: _Word = ""
    name: _Word = ""


class StateArguments(Arguments, frozen=True):
    """Entity to look at."""

    entity: EntityId


class CallArguments(Arguments, frozen=True):
    """Service to call on one entity."""

    entity: EntityId
    service: Annotated[str, Meta(pattern=r"^[a-z_]{1,40}\Z", description="such as turn_on")]
    data: _Data = struct_field(default_factory=dict)


def home_tools(home: HomeAssistant, rules: EntityRules, clock: Clock) -> list[AnyTool]:
    """Return the tools; calling needs at least one entity that may be called."""
    may_call = any(danger != "read" for danger in rules.patterns.values())
    calling: list[AnyTool] = [HomeCallTool(home, rules, clock)] if may_call else []
    return [HomeListTool(home, rules), HomeStateTool(home, rules), *calling]


class HomeListTool(FieldsTool[ListArguments]):
    """Lists the entities that the owner allows."""

    reads = Provenance.WEB
    name = "home_list"
    description = own("Home Assistant's devices by name, area or domain, with their states.")
    effect = Effect.READ
    shown = READINGS
    arguments_type = ListArguments

    def __init__(self, home: HomeAssistant, rules: EntityRules) -> None:
        self._home = home
        self._rules = rules

    async def _fields_of(
        self, arguments: ListArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        try:
            states = await self._home.states()
        except BarnacleError as err:
            raise BadArguments(err.words(self.reads, self._home.host)) from err
        areas, trouble = await self._areas()
        fitting = [
            one
            for one in states
            if self._rules.danger_of(one.entity_id) and _fits(one, arguments, areas)
        ]
        told: dict[str, Fact] = {
            "entities": [self._row(one, areas) for one in fitting[:MAX_LISTED]],
            "more": max(0, len(fitting) - MAX_LISTED),
        }
        return told | trouble

    async def _areas(self) -> tuple[Mapping[str, str], dict[str, Fact]]:
        try:
            return await self._home.areas(), {}
        except BarnacleError:
            text = own("areas are unknown: only an administrator's token is told them")
            return {}, {"areas": text}

    def _row(self, one: HomeState, areas: Mapping[str, str]) -> Fact:
        host = self._home.host
        row: dict[str, Fact] = {
            "entity": outside(one.entity_id, self.reads, host),
            "name": outside(one.name, self.reads, host),
            "state": state_of(one, host),
        }
        if area := areas.get(one.entity_id):
            row["area"] = outside(area, self.reads, host)
        if self._rules.effect_of(one.entity_id) is None:
            row["only"] = own("read")
        return row


class HomeStateTool(FieldsTool[StateArguments]):
    """Looks at one entity, with its attributes."""

    reads = Provenance.WEB
    name = "home_state"
    description = own("State and attributes of one entity of Home Assistant.")
    effect = Effect.READ
    shown = READINGS
    arguments_type = StateArguments

    def __init__(self, home: HomeAssistant, rules: EntityRules) -> None:
        self._home = home
        self._rules = rules

    async def _fields_of(
        self, arguments: StateArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        refuse_unknown(self._rules, arguments.entity)
        try:
            found = await self._home.state(arguments.entity)
        except BarnacleError as err:
            raise BadArguments(err.words(self.reads, self._home.host)) from err
        shown = list(found.attributes.items())[:MAX_ATTRIBUTES]
        attributes = {printable_line(name, 60): _plain(value) for name, value in shown}
        host = self._home.host
        return {
            "entity": echo(arguments.entity),
            "state": state_of(found, host),
            "changed": outside(printable_line(found.last_changed, 40), self.reads, host),
            "attributes": outside(_shown(attributes), self.reads, host),
        }


class HomeCallTool(Tool[CallArguments]):
    """Calls a service on one entity, once, and reads its state back."""

    reads = Provenance.WEB
    name = "home_call"
    shown = READINGS
    arguments_type = CallArguments

    def __init__(self, home: HomeAssistant, rules: EntityRules, clock: Clock) -> None:
        self._home = home
        self._rules = rules
        self._clock = clock
        named = [one for one, danger in rules.patterns.items() if danger != "read"]
        kinds = sorted({domain_of(one) for one in named})
        self.description = own(
            "Call a service on one entity of Home Assistant, of its own domain. Allowed: {}. "
            "Services: {}.",
            configured(", ".join(named[:MAX_NAMED_PATTERNS])),
            configured("; ".join(f"{kind}: {', '.join(SERVICES.get(kind, ()))}" for kind in kinds)),
        )
        # What is said of the tool as a whole is the worst that it can do
        worst = any(rules.patterns[one] == "hazard" or is_hazardous(one) for one in named)
        self.effect = Effect.HAZARD if worst else Effect.ACTUATE

    def parse(self, arguments_json: str) -> CallArguments:
        """Parse the arguments and refuse a forbidden call before anybody is asked."""
        arguments = super().parse(arguments_json)
        refuse_unknown(self._rules, arguments.entity)
        if self._rules.effect_of(arguments.entity) is None:
            raise BadArguments(own("{} may only be read", echo(arguments.entity)))
        known = SERVICES.get(domain_of(arguments.entity), ())
        if arguments.service not in known:
            choice = own("none") if not known else configured(", ".join(known))
            raise BadArguments(
                own("{} cannot be called on it; known: {}", echo(arguments.service), choice)
            )
        if wrong := next((one for one in _TARGETS if one in arguments.data), ""):
            raise BadArguments(own("data names another target by {}", echo(wrong)))
        return arguments

    def effect_of(self, arguments: CallArguments) -> Effect:
        return self._rules.effect_of(arguments.entity) or Effect.HAZARD

    def in_words(self, arguments: CallArguments) -> str:
        options = ", ".join(f"{name} {value}" for name, value in arguments.data.items())
        service = f"{domain_of(arguments.entity)}.{arguments.service}"
        words = f"call {service} of Home Assistant on {arguments.entity}"
        return f"{words} ({options})" if options else words

    async def execute(self, arguments: CallArguments, context: ToolContext) -> ToolResult:
        entity = arguments.entity
        try:
            before = await self._home.state(entity)
            if before.state == _UNREACHED:
                # It would be taken with 200 and passed over
                unreached = own("Home Assistant does not reach {} now (unavailable)", echo(entity))
                return ToolResult.failed(own("it was not done: {}", unreached))
            data: dict[str, object] = {**arguments.data, "entity_id": entity}
            changed = await self._home.call(domain_of(entity), arguments.service, data)
        except OutcomeUnknown as err:
            return await self._unknown(arguments, err)
        except BarnacleError as err:
            told = err.words(self.reads, self._home.host)
            return ToolResult.failed(own("it was not done: {}", told))
        try:
            after = await self._settled(arguments)
        except BarnacleError as err:
            told = err.words(self.reads, self._home.host)
            return ToolResult.failed(
                own("it was called, but its state cannot be read back: {}", told)
            )
        return self._receipt(arguments, before, after, changed)

    async def _settled(self, arguments: CallArguments) -> HomeState:
        """Return the state when it is as it should be, or has not moved for long enough."""
        wanted = state_after(arguments.entity, arguments.service)
        end_s = self._clock.monotonic_s() + READ_BACK_S
        while True:
            found = await self._home.state(arguments.entity)
            is_there = found.state == wanted if wanted else found.state not in _PASSING
            if is_there or self._clock.monotonic_s() >= end_s:
                return found
            await self._clock.sleep(READ_BACK_EVERY_S)

    def _receipt(
        self, arguments: CallArguments, before: HomeState, after: HomeState, changed: int
    ) -> ToolResult:
        host = self._home.host
        wanted = state_after(arguments.entity, arguments.service)
        told: dict[str, Fact] = {
            "entity": echo(arguments.entity),
            "service": echo(arguments.service),
            "before": state_of(before, host),
            "state": state_of(after, host),
        }
        if changed > 1:
            told["changed"] = changed
        if wanted and after.state != wanted and after.state not in _PASSING:
            return ToolResult.failed(
                own(
                    "{} was called on {}, but it reads {}",
                    echo(arguments.service),
                    echo(arguments.entity),
                    state_of(after, host),
                )
            )
        return ToolResult.done(fields(told))

    async def _unknown(self, arguments: CallArguments, err: OutcomeUnknown) -> ToolResult:
        """Tell that nobody knows, with the state as it is now; it is not called again."""
        state: Fact = own("cannot be read either")
        with contextlib.suppress(BarnacleError):
            state = state_of(await self._home.state(arguments.entity), self._home.host)
        told = err.words(self.reads, self._home.host)
        return ToolResult.failed(
            own("unknown outcome: {}. It was not sent again. State now: {}", told, state)
        )


def refuse_unknown(rules: EntityRules, entity: str) -> None:
    """Refuse an entity that the owner does not allow.

    Raises:
        BadArguments: no pattern covers it.
    """
    if rules.danger_of(entity) is None:
        raise BadArguments(
            own("{} is not in the owner's list home_assistant.entities", echo(entity))
        )


def state_of(found: HomeState, host: str) -> Fact:
    """Return the state: a word of ours, a number, or somebody's words."""
    if found.state in STATE_WORDS:
        return configured(found.state)
    number = _number(found.state)
    if number is not None:
        return number
    return outside(printable_line(found.state, MAX_VALUE_CHARS), Provenance.WEB, host)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    # Python reads "nan" and "infinity", too, and JSON has neither
    return found if abs(found) < float("inf") else None


def _fits(one: HomeState, wanted: ListArguments, areas: Mapping[str, str]) -> bool:
    area, name = wanted.area.casefold(), wanted.name.casefold()
    return (
        (not wanted.domain or domain_of(one.entity_id) == wanted.domain)
        and (not area or area in areas.get(one.entity_id, "").casefold())
        and (not name or name in one.name.casefold() or name in one.entity_id)
    )


def _plain(value: Any) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return printable_line(value if isinstance(value, str) else str(value), MAX_VALUE_CHARS)


def _shown(attributes: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in attributes.items())
