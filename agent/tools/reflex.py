"""Tools for reflexes: rules that the board runs by itself, even without this agent.

A new rule is always shown to the owner in words; what makes the board quieter is not asked about.
"""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from agent.errors import BadArguments, CallRefused, LinkError, LinkLost, OutcomeUnknown
from agent.link import reflex_slots
from agent.link.base import Board
from agent.link.manifest import Manifest
from agent.link.reflex_slots import Durability, ReflexSlot, SlotState
from agent.link.reflexes import (
    BadRule,
    ReflexRule,
    in_words,
    pack_rule,
    read_rule,
    span,
    with_proper_names,
)
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, configured, echo, fields, outside, own, read
from agent.security.shares import READINGS
from agent.tools.base import AnyTool, Arguments, Forecast, NoArguments, Tool, ToolContext
from agent.tools.board_words import refusal_of

# The board that is meant when nobody names one; the tools of others bear its name
_PLAIN_BOARD = "board"
_ALREADY = "a reflex {} already exists: delete it or choose another name"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,22}")
_STATES = {
    SlotState.ACTIVE: "active",
    SlotState.PAUSED: "paused",
    SlotState.GONE: "off: one of its pins is no longer configured",
    SlotState.FORBIDDEN: "off: a limit of its output now forbids it",
}
_KEEPING = {
    Durability.IN_RAM: "the board has no storage: it loses its reflexes when it restarts",
    Durability.DAMAGED: "the stored reflexes were damaged: earlier ones are lost",
    Durability.WAITING: "stored as soon as every output is at its safe value",
    Durability.FAILED: "the board could not store it: it is lost after a restart",
}
_REFUSALS = {
    "bad_pin": "its output does not exist",
    "busy": "its output was in use, or must rest",
    "unsafe_state": "the outputs were locked",
    "interlock": "an interlock of its output was not met",
    "io": "a reading or the output failed",
}


class AddArguments(ReflexRule, Arguments, frozen=True, forbid_unknown_fields=True):
    """A new rule for the board."""


class NamedArguments(Arguments, frozen=True):
    """Name of a rule on the board."""

    name: str


class PauseArguments(NamedArguments, frozen=True):
    """Name of a rule, and if it is paused."""

    paused: bool = True


class Rehearsal(Protocol):
    """Seam to what was recorded: rules are tried on it."""

    async def forecast(
        self, board: Board, rule: ReflexRule, others: Sequence[ReflexRule]
    ) -> Forecast:
        """Return what the rule would have done beside the others, and its conflicts with them."""


# Made when it is first needed
FindRehearsal = Callable[[], Rehearsal | None]


class ReflexTools:
    """Tools for the rules of one board; none before it was seen.

    Args:
        rehearsal: gives None where nothing is recorded.
    """

    def __init__(self, board: Board, rehearsal: FindRehearsal = lambda: None) -> None:
        self._board = board
        self._tools: tuple[AnyTool, ...] = (
            ReflexAddTool(board, rehearsal),
            ReflexDeleteTool(board),
            ReflexListTool(board),
            ReflexPauseTool(board, rehearsal),
        )

    def tools(self) -> tuple[AnyTool, ...]:
        """Return the reflex tools; they stay while the board is disconnected."""
        return self._tools if self._board.manifest is not None else ()


class ReflexAddTool(Tool[AddArguments]):
    """Adds a rule to the board."""

    reads = Provenance.SENSOR
    arguments_type = AddArguments
    # Nobody looks on when a rule acts
    effect = Effect.HAZARD
    shown = READINGS
    description = own(
        "Teach the board a rule that it runs by itself, also without you: when one or two readings "
        "hold, set an output for a short time, at most once per interval. reflex_list shows them."
    )

    def __init__(self, board: Board, rehearsal: FindRehearsal) -> None:
        self.name = _name_of(board, "reflex_add")
        self._board = board
        self._rehearsal = rehearsal

    def parse(self, arguments_json: str) -> AddArguments:
        rule = super().parse(arguments_json)
        manifest = _manifest(self._board)
        try:
            pack_rule(manifest, rule)
        except BadRule as err:
            raise BadArguments(str(err)) from err
        return rule

    def in_words(self, arguments: AddArguments) -> str:
        sentence = _sentence(_manifest(self._board), arguments)
        return f"The board will do this by itself, also without me: {sentence}"

    async def foresee(self, arguments: AddArguments) -> Forecast | None:
        return await _foreseen(self._board, self._rehearsal(), lambda _manifest, _slots: arguments)

    async def execute(self, arguments: AddArguments, context: ToolContext) -> ToolResult:
        manifest = _manifest(self._board)
        try:
            stored = await reflex_slots.read(self._board)
            if arguments.name in _names(manifest, stored.slots):
                name = echo(arguments.name)
                return ToolResult.failed(own(_ALREADY, name))
            await reflex_slots.put(self._board, pack_rule(manifest, arguments))
            stored = await reflex_slots.read(self._board)
        except BadRule as err:
            # The pins have changed while the owner was reading
            return ToolResult.failed(outside(str(err), self.reads, "board"))
        except LinkError as err:
            return _failure(err)
        # The arguments, in the words that the owner was asked with
        rule = echo(_sentence(manifest, arguments))
        added: dict[str, Fact] = {"reflex": echo(arguments.name), "rule": rule}
        return _success(added | _note(stored.keeping))


class ReflexListTool(Tool[NoArguments]):
    """Lists the board's rules in words."""

    reads = Provenance.SENSOR
    arguments_type = NoArguments
    effect = Effect.READ
    shown = READINGS
    description = own(
        "The rules that the board runs by itself, how often each acted, and its state."
    )

    def __init__(self, board: Board) -> None:
        self.name = _name_of(board, "reflex_list")
        self._board = board

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        manifest = _manifest(self._board)
        try:
            stored = await reflex_slots.read(self._board)
            told = [_told(manifest, slot) for slot in stored.slots]
        except LinkError as err:
            return _failure(err)
        if not told:
            return _success({"reflexes": []} | _note(stored.keeping))
        # Whatever the board gives back, whoever has put it there
        every = {"reflexes": told, "note": _KEEPING.get(stored.keeping)}
        shown = {name: value for name, value in every.items() if value}
        return ToolResult.done(read(shown, self.reads, f"board:{self._board.name}"))


class ReflexPauseTool(Tool[PauseArguments]):
    """Pauses or resumes a rule."""

    reads = Provenance.SENSOR
    arguments_type = PauseArguments
    effect = Effect.WRITE
    shown = READINGS
    description = own("Let a rule of the board rest, or with paused=false let it act again.")

    def __init__(self, board: Board, rehearsal: FindRehearsal) -> None:
        self.name = _name_of(board, "reflex_pause")
        self._board = board
        self._rehearsal = rehearsal

    def effect_of(self, arguments: PauseArguments) -> Effect:
        # To let it act again is as much as to add it
        return self.effect if arguments.paused else Effect.HAZARD

    def in_words(self, arguments: PauseArguments) -> str:
        if arguments.paused:
            return f"The reflex {arguments.name} will pause."
        return f"The board will run its reflex {arguments.name} again, also without me."

    async def foresee(self, arguments: PauseArguments) -> Forecast | None:
        if arguments.paused:
            return None

        return await foreseen(self._board, self._rehearsal(), arguments.name)

    async def execute(self, arguments: PauseArguments, context: ToolContext) -> ToolResult:
        try:
            slot = await _find(self._board, arguments.name)
            await reflex_slots.enable(self._board, slot.number, is_enabled=not arguments.paused)
        except LinkError as err:
            return _failure(err)
        return _success({"reflex": echo(arguments.name), "paused": arguments.paused})


class ReflexDeleteTool(Tool[NamedArguments]):
    """Deletes a rule from the board."""

    reads = Provenance.SENSOR
    arguments_type = NamedArguments
    effect = Effect.WRITE
    shown = READINGS
    description = own("Delete a rule that the board runs by itself.")

    def __init__(self, board: Board) -> None:
        self.name = _name_of(board, "reflex_delete")
        self._board = board

    def in_words(self, arguments: NamedArguments) -> str:
        return f"The board will forget its reflex {arguments.name}."

    async def execute(self, arguments: NamedArguments, context: ToolContext) -> ToolResult:
        try:
            slot = await _find(self._board, arguments.name)
            await reflex_slots.delete(self._board, slot.number)
        except LinkError as err:
            return _failure(err)
        return _success({"deleted": echo(arguments.name)})


async def _foreseen(
    board: Board,
    rehearsal: Rehearsal | None,
    find: Callable[[Manifest, tuple[ReflexSlot, ...]], ReflexRule | None],
) -> Forecast | None:
    """Return the forecast of the rule beside those that act already."""
    if rehearsal is None:
        return None
    manifest = _manifest(board)
    slots = (await reflex_slots.read(board)).slots
    rule = find(manifest, slots)
    if rule is None:
        return None
    others = [one for one in _acting(manifest, slots) if one.name != rule.name]
    return await rehearsal.forecast(board, rule, others)


async def listed(board: Board) -> list[dict[str, object]]:
    """Return every rule of the board in words, with its state for a page.

    Raises:
        LinkError: the board did not tell.
        BadArguments: the board has not been seen yet.
    """
    manifest, stored = _manifest(board), await reflex_slots.read(board)
    return [
        {**_told(manifest, slot), "slot_state": slot.state.name.lower()} for slot in stored.slots
    ]


async def foreseen(board: Board, rehearsal: Rehearsal | None, name: str) -> Forecast | None:
    """Return what a rule that the board has would have done; None where nothing is recorded.

    Raises:
        LinkError: the board did not tell.
        BadArguments: the board has not been seen yet.
    """

    def named(manifest: Manifest, slots: tuple[ReflexSlot, ...]) -> ReflexRule | None:
        slot = _names(manifest, slots).get(name)
        return _rule_of(manifest, slot) if slot else None

    return await _foreseen(board, rehearsal, named)


async def acting_rules(board: Board) -> list[ReflexRule]:
    """Return the rules that act on the board.

    Raises:
        LinkError: the board did not tell.
    """
    return _acting(_manifest(board), (await reflex_slots.read(board)).slots)


def _acting(manifest: Manifest, slots: tuple[ReflexSlot, ...]) -> list[ReflexRule]:
    return [_rule_of(manifest, slot) for slot in slots if slot.state is SlotState.ACTIVE]


def _name_of(board: Board, verb: str) -> str:
    return verb if board.name == _PLAIN_BOARD else f"{board.name}_{verb}"


def _manifest(board: Board) -> Manifest:
    if board.manifest is None:
        raise BadArguments(own("the board has not been seen yet, so its pins are not known"))
    return board.manifest


def _sentence(manifest: Manifest, rule: ReflexRule) -> str:
    """Describe the rule with the names and precision of the board."""
    return in_words(manifest, with_proper_names(manifest, rule))


async def _find(board: Board, name: str) -> ReflexSlot:
    manifest = _manifest(board)
    stored = await reflex_slots.read(board)
    names = _names(manifest, stored.slots)
    if name not in names:
        known = ", ".join(names) or "none"
        raise CallRefused("bad_request", f"there is no reflex {name!r}; there are {known}")
    return names[name]


def _names(manifest: Manifest, slots: tuple[ReflexSlot, ...]) -> dict[str, ReflexSlot]:
    return {_rule_of(manifest, slot).name: slot for slot in slots}


def _rule_of(manifest: Manifest, slot: ReflexSlot) -> ReflexRule:
    """Return the rule; hide a name that is not ours, because it may be anything."""
    try:
        rule = read_rule(manifest, slot.raw)
    except BadRule as err:
        raise CallRefused("io", str(err)) from err
    proper = rule.name if _NAME.fullmatch(rule.name) else f"reflex_{slot.number}"
    return msgspec.structs.replace(rule, name=proper)


def _told(manifest: Manifest, slot: ReflexSlot) -> dict[str, object]:
    rule = _rule_of(manifest, slot)
    told: dict[str, object] = {
        "name": rule.name,
        "rule": in_words(manifest, rule),
        "state": _STATES.get(slot.state, "unknown to this version"),
        "fired": slot.fired,
        "refused": slot.refused,
    }
    if slot.refusal:
        told["last_refusal"] = _REFUSALS.get(slot.refusal, slot.refusal.replace("_", " "))
    if slot.wait_s and slot.state is SlotState.ACTIVE:
        told["rests_for"] = span(slot.wait_s)
    return told


def _note(keeping: Durability) -> dict[str, Fact]:
    return {"note": configured(_KEEPING[keeping])} if keeping in _KEEPING else {}


def _success(value: dict[str, Fact]) -> ToolResult:
    return ToolResult.done(fields(value))


def _failure(err: LinkError) -> ToolResult:
    why = err.words(Provenance.SENSOR, "board")
    match err:
        case LinkLost():
            words = own("the board is not connected ({})", why)
        case OutcomeUnknown():
            words = own("the board may or may not have done it ({}); check with reflex_list", why)
        case CallRefused(code="not_supported"):
            words = own("this board's firmware has no reflexes: update it")
        case CallRefused() if err.detail:
            words = own("the board refused: {}", refusal_of(err, (), "board"))
        case _:
            words = own("the board refused: {}", why)
    return ToolResult.failed(words)
