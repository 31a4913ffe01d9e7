"""Trial of orders on one board, beside its rules: its pins, and what is known of their past."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, field

from agent.link.base import Board
from agent.link.manifest import Manifest
from agent.link.readings import Setting, readings, settings
from agent.link.reflexes import ReflexRule, raw_in_words
from agent.readings.order_acts import CarriedOut, OrderAct, PastOfOrders, TimedOrder, carry_out
from agent.readings.periods import Span
from agent.readings.rehearsal import Past, PastReadings, concerned, names_in, pasts_of
from agent.security.sandbox.base import Sandbox
from agent.tools.base import AnyTool
from agent.tools.rehearsal_words import OrderResult


class RehearsedBoard(Struct, frozen=True):
    """A board with its tools, and the names that the owner gave to its pins."""

    board: Board
    tools: Callable[[], Sequence[AnyTool]]
    named: Collection[str] = field(default_factory=frozenset)


class OrderTrial(Struct, frozen=True):
    """Orders on one board, beside its rules."""

    home: RehearsedBoard
    manifest: Manifest
    orders: Sequence[TimedOrder]
    rules: Sequence[ReflexRule]

    @property
    def outputs(self) -> frozenset[str]:
        return frozenset(one.output for one in self.orders)

    @property
    def needs(self) -> dict[str, dict[str, int]]:
        """Return the interlocks of each output."""
        pins = {pin.name: pin for pin in self.manifest.pins}
        return {name: dict(pins[name].needs) for name in self.outputs}

    @property
    def needed(self) -> set[str]:
        """Return what interlocks look at and only the past tells: no order or rule sets it."""
        looked_at = {name for needs in self.needs.values() for name in needs}
        return looked_at - self.outputs - {rule.output for rule in self.rules}

    async def past(self, store: PastReadings, span: Span) -> list[Past]:
        """Return what was recorded of each reading on which the orders depend in any way."""
        together = concerned(self.manifest, self.rules, [], self.outputs)
        names = set(names_in(self.manifest, together, self.outputs))
        return await pasts_of(self.home.board, names, store, span)

    async def carried_out(
        self, times_ms: Sequence[int], past: PastOfOrders, sandbox: Sandbox | None
    ) -> CarriedOut:
        """Return what comes of the orders at these times.

        Raises:
            BarnacleError: it could not be found out; the text says why.
        """
        return await carry_out(self.home.board, self.orders, times_ms, self.rules, past, sandbox)

    def results(self, done: CarriedOut) -> list[OrderResult]:
        """Return what has come of each order."""
        return [
            self._result(order, [one for one in done.acts if one.order == number], done.span)
            for number, order in enumerate(self.orders)
        ]

    def _result(self, order: TimedOrder, acts: Sequence[OrderAct], span: Span) -> OrderResult:
        found = next(one for one in settings(self.manifest) if one.pin.name == order.output)
        is_away = order.value != found.pin.safe
        needs = [
            (name, choice_in_words(self.manifest, name, value))
            for name, value in self.needs[order.output].items()
            if is_away
        ]
        return OrderResult(order, _shown(found, order.value), acts, needs, span)


def choice_in_words(manifest: Manifest, name: str, value: int) -> str:
    """Return the board's word for a value of a switch."""
    reading = next((one for one in readings(manifest) if one.name == name), None)
    choices = reading.field.choices if reading else ()
    return choices[value] if value < len(choices) else str(value)


def known_times(past: Past, times_ms: Sequence[int]) -> list[int]:
    """Return the times at which a value of the reading counts."""
    stretches = past.stretches
    begins = [begin_ms for begin_ms, _, _ in stretches]
    found = []
    for at_ms in times_ms:
        place = bisect_right(begins, at_ms) - 1
        if place >= 0 and at_ms < stretches[place][1]:
            found.append(at_ms)
    return found


def _shown(setting: Setting, value: int) -> object:
    if setting.field.choices:
        return setting.field.choices[value]
    return raw_in_words(setting.field, value)
