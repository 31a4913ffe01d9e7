"""Records of the gate: each decision before anything happens, each result after it.

An effect that cannot be recorded does not happen: nobody could ever tell that it did. A look goes
on without, and so does a refusal: neither changes anything.
"""

import asyncio
import contextlib
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextvars import ContextVar

from msgspec import Struct, field

from agent.approvals import effect_counts
from agent.errors import StorageFull
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.security.access import FREE, DataReach
from agent.security.act import NOTHING, Dependence, Pattern, act_hash, call_hash
from agent.security.audit import Audit
from agent.security.audit_chain import Link, Row, Value
from agent.security.policy import ALL, Counters, Decision, GateCall, Policy, Verdict
from agent.security.redact import without_contents
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.system.crash_points import crash_point
from agent.tools.base import Arguments, Forecast

_log = logging.getLogger(__name__)

Foresee = Callable[[], Awaitable[Forecast | None]]
CARRIES_KEY_TEXT = "it contains one of my keys, which is neither shown nor sent"
# Effects whose result is what the board says it reads at its outputs now
_MOVING = frozenset({Effect.ACTUATE, Effect.HAZARD})


def texts_of(arguments: Arguments) -> dict[str, str]:
    """Arguments as the rules of the owner see them."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in arguments.by_name().items()
    }


def parts_of(arguments: Arguments) -> dict[str, set[str]]:
    """Return what stands in lists and tables of the arguments, by name, as the rules see it.

    An item has the name of its list, and that in the singular: `paths` holds what is a `path`.
    """
    found: dict[str, set[str]] = {}
    for name, value in arguments.by_name().items():
        if isinstance(value, list | tuple | Mapping):
            _gather(name, value, found)
    return found


def _gather(name: str, value: object, found: dict[str, set[str]]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _gather(key, inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(name, inner, found)
    else:
        # Few calls have lists, and no start
        from agent.security.spelling import spelled_argument  # noqa: PLC0415

        told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for called in {name, name.removesuffix("s")}:
            found.setdefault(called, set()).add(spelled_argument(called, told))


async def nothing_foreseen() -> Forecast | None:
    """Foresee nothing."""
    return None


class CallCircumstances(Struct, frozen=True):
    """Origin of a call: the person, the conversation, and the least trusted source.

    Args:
        source: where the least trusted text of the turn came from.
        arguments: as the tool understood them, top level only.
        parts: what stands in lists and tables of them.
        reach: how far the data goes that the call shows.
        foresee: finds out what would come of it, for whoever is asked.
        holds_secret: one of the agent's own secrets stands in the arguments.
        is_spoken: the order was said aloud.
        words: what the call does, in the tool's own words.
        dependence: what a yes is bound to besides the call.
        pattern: which calls an "always" is for; None is this very call.
        may_stand: an "always" may be given at all.
    """

    person: str = ""
    conversation: str = ""
    source: str = ""
    turn: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    dependence: Dependence = NOTHING
    pattern: Pattern | None = None
    may_stand: bool = True
    holds_secret: bool = False
    reach: DataReach = FREE
    is_spoken: bool = False
    foresee: Foresee = nothing_foreseen
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    places: Collection[str] = ()


class CallCase(Struct, frozen=True):
    """One call before the gate."""

    call: ToolCall
    effect: Effect
    provenance: Provenance
    circumstances: CallCircumstances

    def act(self) -> str:
        """Return the exact act that a yes allows; reads the disk."""
        call = self.call
        return act_hash(call.name, call.arguments_json, self.circumstances.dependence)

    @property
    def as_call(self) -> GateCall:
        around = self.circumstances
        call, told = self.call.name, around.arguments
        return GateCall(call, self.effect, told, around.parts, around.places)


class AuditReceipt(Struct, frozen=True):
    """Row of the audit log about a call: what it records, its number and its hash."""

    kind: str
    link: Link


_collected: ContextVar[list[AuditReceipt] | None] = ContextVar("receipts", default=None)


@contextlib.contextmanager
def collected() -> Iterator[list[AuditReceipt]]:
    """Yield the receipts of the calls of this task, while they come."""
    receipts: list[AuditReceipt] = []
    token = _collected.set(receipts)
    try:
        yield receipts
    finally:
        _collected.reset(token)


def _note(kind: str, link: Link) -> None:
    if (receipts := _collected.get()) is not None:
        receipts.append(AuditReceipt(kind, link))


class NotRecorded:
    """Keeps nothing and counts nothing."""

    async def counters(self, turn: str) -> Counters:
        return {}

    async def decided(self, case: CallCase, decision: Decision, policy: Policy) -> None:
        """It is forgotten at once."""

    async def came_of(self, case: CallCase, result: ToolResult) -> None:
        """The same."""


class DecisionRecords(NotRecorded):
    """The audit log, and the count of effects in the agent's database."""

    def __init__(self, audit: Audit, journal: DatabaseWorker, clock: Clock) -> None:
        self._audit = audit
        self._journal = journal
        self._clock = clock

    def close(self) -> None:
        self._audit.close()

    async def note(self, row: Row) -> None:
        """Put on record what the owner decided without a call of a tool.

        Raises:
            StorageFull: it is not on record, so it must not happen.
        """
        await asyncio.to_thread(self._audit.append, row, durable=True)

    async def counters(self, turn: str) -> Counters:
        now_s = self._clock.wall_s()
        return await self._journal.look(lambda db: effect_counts.done(db, turn, now_s))

    async def decided(self, case: CallCase, decision: Decision, policy: Policy) -> None:
        """Put a decision on record; durably, and counted, where an effect follows.

        Raises:
            StorageFull: it is not on record, so the effect must not happen.
        """
        acts = decision.verdict is Verdict.ALLOW and case.effect is not Effect.READ
        row = {**_decided(case, decision), **_asked_for(case)}
        try:
            link = await asyncio.to_thread(self._audit.append, row, durable=acts)
        except StorageFull as err:
            if acts:
                raise
            _log.warning("audit: decision not recorded (error=%s)", err)
            return
        _note("decision", link)
        if acts:
            names = [ALL, *(rule.name for rule in policy.rules_for(case.as_call))]
            turn, now_s = case.circumstances.turn, self._clock.wall_s()

            def keep(db: sqlite3.Connection) -> None:
                effect_counts.note(db, names, turn, now_s)
                effect_counts.anchor(db, link)

            await self._journal.transact(keep)
            crash_point("effect.decided")
            # Kept by whoever keeps the log: a place that cannot be rewritten in the state folder
            _log.info("audit: recorded (row=%s)", link)

    async def came_of(self, case: CallCase, result: ToolResult) -> None:
        """Put the result of an effect on record; it happened, so this never fails."""
        crash_point("effect.acted")
        named = "read_back" if result.success and case.effect in _MOVING else "result"
        row: Row = {
            "kind": "effect",
            "tool": case.call.name,
            "effect": case.effect.value,
            "ok": result.success,
            named: result.text,
            "turn": case.circumstances.turn,
            "call": call_hash(case.call.name, case.call.arguments_json),
        }
        try:
            link = await asyncio.to_thread(self._audit.append, row, durable=True)
            _note("effect", link)
        except StorageFull as err:
            _log.error("audit: result not recorded (tool=%s, error=%s)", case.call.name, err)
        crash_point("effect.recorded")


def _decided(case: CallCase, decision: Decision) -> dict[str, Value]:
    return {
        "kind": "decision",
        "verdict": decision.verdict.value,
        "rule": decision.rule,
        "reason": decision.reason,
        "tool": case.call.name,
        "effect": case.effect.value,
        "provenance": case.provenance.name.lower(),
    }


def _asked_for(case: CallCase) -> dict[str, Value]:
    circumstances = case.circumstances
    return {
        "source": circumstances.source,
        "person": circumstances.person,
        "conversation": circumstances.conversation,
        "turn": circumstances.turn,
        "arguments": _arguments_of(case),
        "call": call_hash(case.call.name, case.call.arguments_json),
    }


def _arguments_of(case: CallCase) -> str:
    """As the model wrote them; of what is sent out neither body nor headers, which hold keys."""
    text = case.call.arguments_json
    return without_contents(text) if case.effect is Effect.NETWORK else text
