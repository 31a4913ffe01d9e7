"""Events that a board would have told of a reading in the past, by its own code.

It decides in a child process and in virtual time, and is asked in its link's own numbers, as for a
live watch.
"""

from typing import Any

from msgspec import Struct

from agent.link.events import Watch, limits_on_wire
from agent.readings import rule_code
from agent.readings.periods import Span
from agent.readings.rehearsal import Past, history_of
from agent.security.sandbox.base import Sandbox


class WatchedEvent(Struct, frozen=True):
    """Event that the board would have told, with the board's number for the value."""

    at_ms: int
    raw: int


async def watched(
    watch: Watch, past: Past, span: Span, sandbox: Sandbox | None
) -> tuple[list[WatchedEvent], bool]:
    """Return the events that the board would have told, and true where there were too many.

    Raises:
        BarnacleError: it could not be found out; the text says why.
    """
    given = watch_task(watch, past, span)
    done = await rule_code.run("virtual_watch", given, sandbox)
    events = [WatchedEvent(span.begin_ms + at_ms, raw) for at_ms, raw in done["events"]]
    return events, done["is_cut"]


def watch_task(watch: Watch, past: Past, span: Span) -> dict[str, Any]:
    """Return the subscription in the board's numbers, with the history of its reading."""
    history = history_of(past, span)
    low, high = limits_on_wire(watch, past.reading)
    return {
        "mode": watch.when.value,
        "least_ms": watch.least_interval_ms,
        "low": low,
        "high": high,
        "times": history["times"],
        "values": history["values"],
        "length_ms": span.length_ms,
    }
