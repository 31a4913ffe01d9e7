"""Acts of orders: what the writes of a job or a watch would have come to in the past.

The board's own code decides, in a child process and in virtual time, beside the reflexes that it
runs.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from agent.link.readings import settings
from agent.link.reflexes import ReflexRule, pack_rule
from agent.readings import rule_code
from agent.readings.periods import Span
from agent.readings.rehearsal import (
    Conflict,
    DescribedBoard,
    Past,
    concerned,
    conflicts_in,
    history_of,
    manifest_of,
    outputs_of,
    ranges_of,
)
from agent.security.sandbox.base import Sandbox


class TimedOrder(Struct, frozen=True):
    """Write of one output.

    Args:
        value: in the board's numbers.
        for_ms: then it goes back to its safe value; 0 is no end.
    """

    output: str
    value: int
    for_ms: int = 0


class OrderAct(Struct, frozen=True):
    """Result of one order at one time.

    Args:
        order: its place among the orders.
        code: the answer code of the refusal; 0 where it was done.
        unmet: the pin that an interlock waited for; empty where none did.
    """

    order: int
    begin_ms: int
    end_ms: int
    code: int = 0
    unmet: str = ""

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.begin_ms


class CarriedOut(Struct, frozen=True):
    """Acts of orders in a span of the past.

    Args:
        is_cut: reflexes acted so often that it was looked at only until `span` ends.
    """

    acts: Sequence[OrderAct]
    span: Span
    is_cut: bool


async def carry_out(
    board: DescribedBoard,
    orders: Sequence[TimedOrder],
    times_ms: Sequence[int],
    rules: Sequence[ReflexRule],
    past: "PastOfOrders",
    sandbox: Sandbox | None,
) -> "CarriedOut":
    """Return what would have come of the orders at each of the times, beside the rules.

    Raises:
        BarnacleError: it could not be found out; the text says why.
    """
    manifest, span = manifest_of(board), past.span
    places = {pin.name: pin.index for pin in manifest.pins}
    names = {index: name for name, index in places.items()}
    together = concerned(manifest, rules, [], [one.output for one in orders])
    given: dict[str, Any] = {
        "rules": [pack_rule(manifest, rule).hex() for rule in together],
        "outputs": outputs_of(manifest),
        "histories": [history_of(one, span) for one in past.readings if one.series is not None],
        "length_ms": span.length_ms,
        "orders": [
            {
                "at_ms": at_ms - span.begin_ms,
                "index": places[one.output],
                "value": one.value,
                "for_ms": one.for_ms,
            }
            for at_ms in times_ms
            for one in orders
        ],
    }
    done = await rule_code.run("virtual_board", given, sandbox)
    acts = [
        OrderAct(
            number % len(orders),
            span.begin_ms + begin,
            span.begin_ms + end,
            code,
            names.get(unmet, ""),
        )
        for number, begin, end, code, unmet in done["orders"]
    ]
    return CarriedOut(acts, Span(span.begin_ms, span.begin_ms + done["until_ms"]), done["is_cut"])


class PastOfOrders(Struct, frozen=True):
    """Readings on which orders depend, in a span."""

    span: Span
    readings: Sequence[Past]


async def order_conflicts(
    board: DescribedBoard,
    orders: Sequence[TimedOrder],
    rules: Sequence[ReflexRule],
    sandbox: Sandbox | None,
) -> list[Conflict]:
    """Return what must not be and can be when the orders are given: they come after the rules.

    Raises:
        BarnacleError: it could not be found out; the text says why.
    """
    manifest = manifest_of(board)
    places = {pin.name: pin.index for pin in manifest.pins}
    known = {one.pin.name for one in settings(manifest)}
    given = {
        "rules": [pack_rule(manifest, rule).hex() for rule in rules],
        "orders": [[places[one.output], one.value] for one in orders if one.output in known],
        "outputs": outputs_of(manifest),
        "ranges": list(ranges_of(manifest)),
        "asked": list(range(len(rules), len(rules) + len(orders))),
    }
    return conflicts_in(await rule_code.run("rule_conflicts", given, sandbox))
