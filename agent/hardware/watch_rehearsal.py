"""Rehearsal of a watch: how often it would have told, and what its order had come to.

The board's own code finds the events in what was recorded, and those are told or left out by the
same alarm that is at work later.
"""

from collections.abc import Sequence

from msgspec import Struct

from agent.errors import BadArguments, BarnacleError
from agent.hardware.alarm import Alarm
from agent.link.events import BoardEvent, value_of
from agent.link.manifest import Manifest
from agent.link.readings import BoardReading, UnknownName, find_reading
from agent.link.settings import WatchSettings
from agent.messages import Provenance
from agent.readings.periods import Span
from agent.readings.rehearsal import last_days, pasts_of
from agent.readings.watched_events import WatchedEvent, watched
from agent.tools.base import Forecast
from agent.tools.order_rehearsal import OrderRehearsal
from agent.tools.rehearsal_words import Occurrences

_MS = 1000


class DescribedWatch(Struct, frozen=True):
    """A watch that is wanted, and its board as far as its description goes.

    Args:
        name: of the board.
        watch: its name.
    """

    name: str
    manifest: Manifest
    watch: str
    wanted: WatchSettings


async def foreseen(
    described: DescribedWatch, rehearsal: OrderRehearsal, language: str
) -> Forecast | None:
    """Return what the watch would have told or begun in the last weeks.

    Raises:
        BadArguments: there is no such reading.
    """
    desk, wanted = rehearsal.desk, described.wanted
    alarm = Alarm(described.watch, wanted, Provenance.SENSOR)
    try:
        reading = find_reading(described.manifest, wanted.pin)
    except UnknownName as err:
        raise BadArguments(str(err)) from err
    span = last_days(desk.clock.wall_s())
    try:
        (past,) = await pasts_of(described, {reading.name}, desk.store, span)
        if not len(past.rows):
            return await rehearsal.without_history(reading.name, wanted.ask, language)
        events, is_cut = await watched(alarm.watch, past, span, rehearsal.sandbox)
    except BarnacleError as err:
        return rehearsal.not_rehearsed(str(err), language)
    times_ms = told_times(alarm, described.manifest, reading, events)
    last_ms = events[-1].at_ms if is_cut else span.end_ms
    known = Span(max(span.begin_ms, past.rows.at_ms[0]), last_ms)
    kind = "begun" if wanted.ask else "told"
    limits = () if alarm.limit is None else (alarm.limit,)
    found = Occurrences(kind, described.watch, times_ms, known, alarm.untold, is_cut, past, limits)
    return await rehearsal.forecast(found, wanted.ask, language)


def told_times(
    alarm: Alarm, manifest: Manifest, reading: BoardReading, events: Sequence[WatchedEvent]
) -> list[int]:
    """Return the times at which the alarm tells of an event, in milliseconds."""
    told: list[int] = []
    for number, one in enumerate(events):
        at_s = one.at_ms / _MS
        value = value_of(manifest, reading, one.raw)
        event = BoardEvent(reading.name, value, reading.field.unit, at_s, at_s, number, 0)
        if alarm.takes(event, at_s):
            told.append(one.at_ms)
    return told
