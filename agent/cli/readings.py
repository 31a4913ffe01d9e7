"""`barnacle readings list | export | import`: what was recorded, for spreadsheets and programs.

Reads the store of a running agent as well; what it has not written yet, ten minutes at most, is
not there.
"""

import asyncio
import csv
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from agent.app.reading_store import open_store
from agent.cli import configuration, exits
from agent.cli.output import clean, say, say_json
from agent.errors import BadArguments
from agent.readings.packing import DAY_MS
from agent.readings.series import Series
from agent.readings.store import ReadingStore
from agent.system.clock import SystemClock

_COLUMNS = (
    "time",
    "reading",
    "unit",
    "lowest",
    "mean",
    "highest",
    "values",
    "on_s",
    "known_s",
    "starts",
    "kind",
)
_PARTIAL = (
    "The PostgreSQL server does not answer: only what this machine still has is here."
    " `barnacle doctor` says more."
)
_NOTHING = "Nothing was recorded yet."


def run(arguments: Namespace) -> int:
    if arguments.action == "import":
        from agent.cli import readings_import  # noqa: PLC0415 - for this action alone

        return readings_import.run(arguments)
    settings, paths = configuration.load(arguments)
    if not paths.readings_db.exists():
        say(_NOTHING)
        return exits.OK
    store = open_store(settings, paths, SystemClock())
    asyncio.run(_run(store, arguments))
    return exits.OK


async def _run(store: ReadingStore, arguments: Namespace) -> None:
    await store.open()
    try:
        if arguments.action == "list":
            _list(store.every_series(), as_json=arguments.json)
        else:
            await _export(store, arguments)
    finally:
        await store.aclose()


def _list(every: Sequence[Series], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {"name": one.name, "unit": one.kind.unit, "every_s": one.cadence_s} for one in every
        ]
        say_json(listed)
        return
    for one in every:
        unit = f", {one.kind.unit}" if one.kind.unit else ""
        print(clean(f"{one.name}{unit}: every {one.cadence_s} s"))


async def _export(store: ReadingStore, arguments: Namespace) -> None:
    every = [one for one in store.every_series() if arguments.reading in {None, one.name}]
    if not every:
        raise BadArguments(
            f"nothing is recorded as {arguments.reading}: see `barnacle readings list`"
        )
    if arguments.json:
        found = [
            dict(zip(_COLUMNS, row, strict=True))
            for one in every
            async for row in _rows(store, one, arguments.days)
        ]
        say_json(found)
        _warn(store)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in every:
        async for row in _rows(store, one, arguments.days):
            writer.writerow(row)
    _warn(store)


def _warn(store: ReadingStore) -> None:
    if store.is_partial:
        print(_PARTIAL, file=sys.stderr)


async def _rows(
    store: ReadingStore, series: Series, days: int
) -> AsyncIterator[tuple[object, ...]]:
    """Yield what is kept of each day, as finely as it is kept."""
    end_ms = round(SystemClock().wall_s() * 1000)
    begin_ms = end_ms - days * DAY_MS
    seen_ms = -1
    while begin_ms < end_ms:
        until_ms = min((begin_ms // DAY_MS + 1) * DAY_MS, end_ms)
        rows = await store.rows(series, begin_ms, until_ms)
        for row in zip(*rows.every(), strict=True):
            at_ms, low, mean, high, count, on_ms, known_ms, starts = row
            # A pack between two reads shows a value twice
            if at_ms > seen_ms:
                seen_ms = int(at_ms)
                numbers = (low, mean, high, count, on_ms / 1000, known_ms / 1000, starts)
                kind = "switch" if series.kind.is_switch else "number"
                yield (_time(int(at_ms)), series.name, series.kind.unit, *numbers, kind)
        begin_ms = until_ms


def _time(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return at.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds")
