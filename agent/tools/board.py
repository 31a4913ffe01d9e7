"""The board's methods as tools: one for each, made from the manifest, and `board_info`.

A tool shows names, ranges and units as the board gives them and never an exception.
"""

import asyncio
import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Protocol, cast

import msgspec

from agent.errors import CallRefused, LinkLost, OutcomeUnknown
from agent.link.base import Board, BoardState, Value
from agent.link.leases import is_at_rest
from agent.link.manifest import BYTES_FORMAT, BoardPin, Field, Manifest, Method
from agent.link.value_codec import is_whole, limit_of, range_of
from agent.messages import Effect, ToolResult
from agent.passage import (
    Fact,
    Passage,
    Provenance,
    configured,
    echo,
    fields,
    lowest,
    outside,
    own,
)
from agent.security.act import Pattern
from agent.security.shares import READINGS
from agent.tools.base import (
    MAX_ARGUMENTS_BYTES,
    AnyTool,
    Arguments,
    NoArguments,
    Tool,
    ToolContext,
)
from agent.tools.board_words import (
    description_of,
    is_own_word,
    limits_in_words,
    limits_of,
    refusal_of,
    word_of,
)
from agent.tools.choice import facts_of, told_of
from agent.tools.timed_output import (
    FOR_SECONDS,
    Endings,
    ForSeconds,
    OutputLimits,
    can_end,
    safe_value,
)

_EFFECTS = {"read": Effect.READ, "actuate": Effect.ACTUATE}
# Larger whole numbers are not exact in JSON; a limit beyond them limits nothing
_EXACT_IN_JSON = 2**53
# A sensor that was just connected has its first value after 2.2 s, a bus is scanned in 0.1 s
BUSY_PAUSE_S = 0.4
BUSY_TRIES = 8
# What people and models say for the two values of a switch
_SWITCH_WORDS = {"on": ("true", "1", "high"), "off": ("false", "0", "low")}


class OutputListener(Protocol):
    """Callback for a call that set an output; `is_at_rest` says if that is its safe value."""

    def __call__(self, pin: str, *, is_at_rest: bool) -> None: ...


class BoardTools:
    """Tools of a board; they follow the newest manifest.

    Args:
        named: names and aliases that the owner gave to pins; others that are not in our firmware
            are the board's own words, and trusted as a sensor is.
    """

    def __init__(
        self, board: Board, moved: OutputListener | None = None, named: Collection[str] = ()
    ) -> None:
        self._board = board
        self._moved = moved
        self._named = frozenset(named)
        # They outlive the manifest they were made by
        self._endings = Endings(board, self._rested)
        self._tools: tuple[AnyTool, ...] = (BoardInfoTool(board, self._named),)
        board.on_manifest(self._follow)

    def tools(self) -> tuple[AnyTool, ...]:
        """Return the tools of the board; they stay while it is disconnected."""
        return self._tools

    def _rested(self, pin: str) -> None:
        if self._moved is not None:
            self._moved(pin, is_at_rest=True)

    def _follow(self, manifest: Manifest) -> None:
        methods = [method for method in manifest.methods if _is_usable(manifest, method)]
        self._tools = (
            BoardInfoTool(self._board, self._named),
            *(
                BoardTool(self._board, manifest, one, self._moved, self._named, self._endings)
                for one in methods
            ),
        )


class BoardInfoTool(Tool[NoArguments]):
    """Describes the board and its abilities, also while it is disconnected."""

    reads = Provenance.SENSOR
    arguments_type = NoArguments
    effect = Effect.READ
    description = own("State of the board, its pins by name, and what can be asked of it.")
    shown = READINGS

    def __init__(self, board: Board, named: Collection[str] = ()) -> None:
        self.name = f"{board.name}_info"
        self._board = board
        self._named = named

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        status, manifest = self._board.status, self._board.manifest
        pins = manifest.pins if manifest else ()
        methods = [one for one in manifest.methods if _is_usable(manifest, one)] if manifest else []
        known_as = manifest.board if manifest else ""
        info: dict[str, Fact] = {
            "state": status.state,
            "board": self._word(status.identity.board if status.identity else known_as),
            "firmware": self._word(status.identity.firmware if status.identity else ""),
            "port": configured(status.port),
            "pins": [self._pin(pin) for pin in pins],
            "methods": [self._word(method.name) for method in methods],
        }
        if status.trouble:
            is_away = status.state is BoardState.ABSENT
            info["trouble"] = (
                own("{}", configured(status.trouble))
                if is_away
                else outside(status.trouble, self.reads, f"board:{self._board.name}")
            )
        return ToolResult.done(fields(info))

    def _word(self, text: str) -> Passage:
        return word_of(self._board, text, self._named)

    def _pin(self, pin: BoardPin) -> dict[str, Fact]:
        can = [self._word(one) for one in pin.can]
        told: dict[str, Fact] = {"name": self._word(pin.name), "can": can}
        # Its limits name other pins
        return told | limits_in_words(limits_of(pin), [self._word(name) for name, _ in pin.needs])


class BoardTool(Tool[Arguments]):
    """One method of the board."""

    reads = Provenance.SENSOR
    shown = READINGS

    def __init__(
        self,
        board: Board,
        manifest: Manifest,
        method: Method,
        moved: OutputListener | None = None,
        named: Collection[str] = (),
        endings: Endings | None = None,
    ) -> None:
        self._moved = moved
        self._endings = endings or Endings(board)
        # Besides these a board can only say something of its own
        own = (pin.name for pin in manifest.pins if is_own_word(pin.name, named))
        self._named = {*named, *own}
        self._pins = {pin.name: pin for pin in manifest.pins}
        self.name = f"{board.name}_{method.name}"
        self.description = description_of(board, manifest, method, named)
        self.effect = _EFFECTS.get(method.safety, Effect.HAZARD)
        self.arguments_type = _arguments_type(manifest, method)
        self._board = board
        self._method = method
        self._is_measurement = method.safety == "read" and method.idempotent
        self._dangerous = {pin.name for pin in manifest.pins if pin.safety == "hazard"}
        self._synonyms = {field.name: _synonyms(manifest, field) for field in method.arguments}

    def effect_of(self, arguments: Arguments) -> Effect:
        """Return HAZARD for a pin that the owner calls a hazard, whatever the method is."""
        if self.effect is not Effect.ACTUATE:
            return self.effect
        named = {getattr(arguments, one.name) for one in self._method.arguments if one.pins}
        return Effect.ACTUATE if named.isdisjoint(self._dangerous) else Effect.HAZARD

    def parse(self, arguments_json: str) -> Arguments:
        arguments = super().parse(self._with_proper_names(arguments_json))
        if for_s := getattr(arguments, FOR_SECONDS, 0):
            pin, setting = (
                self._moves(msgspec.structs.asdict(arguments)),
                self._method.arguments[-1],
            )
            limits = OutputLimits(pin.name, safe_value(pin, setting), pin.max_on_ms / 1000)
            limits.check(getattr(arguments, setting.name), for_s)
        return arguments

    def always_for(self, arguments: Arguments) -> Pattern | None:
        """Cover further calls of this method on the same pin, with any value."""
        fields = [one.name for one in self._method.arguments if one.pins]
        pins = {name: str(getattr(arguments, name)) for name in fields}
        named = " and ".join(f"{name} {pin}" for name, pin in pins.items())
        return Pattern(pins, f"{self.name} with {named}, any value") if pins else None

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        values: dict[str, Value] = msgspec.structs.asdict(arguments)
        for_s = float(values.pop(FOR_SECONDS, 0))
        if not can_end(self._method):
            return await self._done(values, for_s)
        pin = self._moves(values)
        async with self._endings.turn(pin.name):
            if (why := self._endings.overstay(pin, for_s)) is not None:
                return ToolResult.failed(why)
            return await self._done(values, for_s)

    async def _done(self, values: dict[str, Value], for_s: float) -> ToolResult:
        try:
            result = await self._call(values)
        except LinkLost as err:
            why = err.words(self.reads, self._source)
            return ToolResult.failed(own("the board is not connected ({})", why))
        except OutcomeUnknown as err:
            why = err.words(self.reads, self._source)
            name = self._word(self._method.name)
            return ToolResult.failed(own(_NOT_KNOWN, name, why))
        except CallRefused as err:
            why = refusal_of(err, self._named, self._source)
            return ToolResult.failed(own("the board refused: {}", why))
        self._tell_moved(values, result)
        # The names of its fields are the board's, as its values are
        least = lowest(self._word(field.name) for field in self._method.result)
        words = fields(self._answer(values, result) | self._ends(values, for_s))
        return ToolResult.done(words.below(least.provenance, least.source))

    def _word(self, text: str) -> Passage:
        return word_of(self._board, text, self._named)

    @property
    def _source(self) -> str:
        return f"board:{self._board.name}"

    def _moves(self, values: Mapping[str, Value]) -> BoardPin:
        field = next(field for field in self._method.arguments if field.pins)
        return self._pins[str(values[field.name])]

    def _ends(self, values: Mapping[str, Value], for_s: float) -> dict[str, Fact]:
        """Return the fields that say how long the output stays on; cancel an earlier end."""
        if not can_end(self._method):
            return {}
        pin, setting = self._moves(values), self._method.arguments[-1]
        self._endings.call_off(pin.name)
        if not for_s:
            return {}
        safe = safe_value(pin, setting)
        at_rest = {**values, setting.name: safe}
        self._endings.end_later(pin.name, self._method.name, at_rest, for_s)
        return {FOR_SECONDS: for_s, "then": self._said(setting, safe)}

    def _tell_moved(self, values: Mapping[str, Value], result: Mapping[str, Value]) -> None:
        if self._moved is None or not self._method.lease:
            return
        for field in self._method.arguments:
            if field.pins:
                pin = self._pins[str(values[field.name])]
                rests = is_at_rest(pin, self._method, values, result)
                self._moved(pin.name, is_at_rest=rests)

    async def _call(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return the board's answer; wait for a measurement that is not ready yet."""
        for _ in range(BUSY_TRIES - 1):
            try:
                return await self._board.call(self._method.name, values)
            except CallRefused as err:
                if err.code != "busy" or not self._is_measurement:
                    raise
            await asyncio.sleep(BUSY_PAUSE_S)
        return await self._board.call(self._method.name, values)

    def _answer(self, values: Mapping[str, Value], result: Mapping[str, Value]) -> dict[str, Fact]:
        """Return the pin, the result and its unit."""
        named = [field for field in self._method.arguments if field.pins]
        pins: dict[str, Fact] = {field.name: echo(str(values[field.name])) for field in named}
        told = self._method.result
        shown = [field for field in told if field.name in result or not field.optional]
        units = {field.name: self._word(field.unit) for field in shown if field.unit}
        said = {
            field.name: self._said(field, result[field.name])
            for field in told
            if field.name in result
        }
        answer: dict[str, Fact] = {**pins, **said}
        if len(shown) == 1 and units:
            answer["unit"] = units[shown[0].name]
        elif units:
            answer["units"] = units
        return answer

    def _said(self, field: Field, value: Value) -> Fact:
        """Return a value as a fact; a number is no order, bytes are the wired device's words."""
        if not isinstance(value, str):
            return value
        if field.format == BYTES_FORMAT:
            return outside(value, self.reads, self._source)
        return self._word(value)

    def _with_proper_names(self, arguments_json: str) -> str:
        """Replace aliases and other spellings of names and choices by the proper ones."""
        if len(arguments_json) > MAX_ARGUMENTS_BYTES:
            return arguments_json
        try:
            written = msgspec.json.decode(arguments_json or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError):
            # The proper parser says what is wrong with it
            return arguments_json
        return _json({name: self._proper(name, value) for name, value in written.items()})

    def _proper(self, name: str, value: object) -> object:
        if not isinstance(value, str | int):
            return value
        return self._synonyms.get(name, {}).get(str(value).casefold().strip(), value)


_NOT_KNOWN = "{} may or may not have acted, so it is not repeated ({})"


def _is_usable(manifest: Manifest, method: Method) -> bool:
    """Return true if the board has a pin for every argument that names one."""
    return all(manifest.pins_that_can(field.pins) for field in method.arguments if field.pins)


def _arguments_type(manifest: Manifest, method: Method) -> type[Arguments]:
    fields: list[Any] = [(field.name, _type_of(manifest, field)) for field in method.arguments]
    if can_end(method):
        fields.append((FOR_SECONDS, ForSeconds, 0))
    made = msgspec.defstruct(f"{method.name}_arguments", fields, bases=(Arguments,), frozen=True)
    return cast("type[Arguments]", made)


def _type_of(manifest: Manifest, field: Field) -> Any:
    if field.pins:
        pins = manifest.pins_that_can(field.pins)
        names: Any = Literal[tuple(pin.name for pin in pins)]
        known = ", ".join(told for pin in pins if (told := _told(pin)))
        return Annotated[names, msgspec.Meta(description=known)] if known else names
    if field.choices:
        return Literal[field.choices]
    if field.format == BYTES_FORMAT:
        return _bytes_type(field)
    return _number_type(field)


def _bytes_type(field: Field) -> Any:
    how = r"text, with \n \r \xNN" if field.text else "in hex, such as 1f a0"
    most = limit_of(field)
    # An escape of a byte has four characters at most
    limits = msgspec.Meta(
        min_length=1, max_length=4 * most + 2, description=f"at most {most} bytes, {how}"
    )
    return Annotated[str, limits]


def _number_type(field: Field) -> Any:
    low, high = range_of(field)
    kind = int if is_whole(field) else float
    limits: dict[str, Any] = {}
    if low is not None and low >= -_EXACT_IN_JSON:
        limits["ge"] = math.ceil(low) if kind is int else low
    if high is not None and high <= _EXACT_IN_JSON:
        limits["le"] = math.floor(high) if kind is int else high
    if field.unit:
        limits["description"] = f"in {field.unit}"
    return Annotated[kind, msgspec.Meta(**limits)] if limits else kind


def _told(pin: BoardPin) -> str:
    facts = facts_of(pin.place, pin.groups, pin.opens, "on" if pin.safe else "off")
    return told_of(pin.name, pin.aliases, facts)


def _synonyms(manifest: Manifest, field: Field) -> dict[str, str]:
    """Return the proper value for each spelling in lower case; a proper name wins over an alias."""
    if field.pins:
        pins = manifest.pins_that_can(field.pins)
        spellings = {one.casefold(): pin.name for pin in pins for one in (pin.pin, *pin.aliases)}
        return spellings | {pin.name: pin.name for pin in pins}
    spellings = {word: one for one in field.choices for word in _SWITCH_WORDS.get(one, ())}
    return spellings | {choice.casefold(): choice for choice in field.choices}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
