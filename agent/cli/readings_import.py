"""`barnacle readings import`: readings out of a CSV file, looked at first and stored whole.

A running agent goes on: what is stored is there for its next answer.
"""

import asyncio
import contextlib
import sqlite3
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from agent.cli import configuration, exits
from agent.cli.file_ownership import hand_over
from agent.cli.output import clean, say, say_json
from agent.cli.readings_file import BadRows, FileRead, local_text, read_file, zone_of
from agent.errors import BadArguments
from agent.machine.boot import boot_id
from agent.readings.csv_import import (
    Counted,
    FileSays,
    ImportedReading,
    ImportRules,
    ReadingImport,
    imported,
)
from agent.readings.csv_spool import CsvSpool
from agent.readings.packing import DAY_MS, QUARTER_MS, Retention
from agent.readings.ring_device import RING_DEVICE
from agent.readings.store import ReadingStore

_SHOWN_ROWS = 3
_MINUTE_MS = 60_000
Done = tuple[ImportedReading, Counted]
_FILES = ("readings.db", "readings.db-wal", "readings.db-shm")


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    retention = Retention(minute_days=settings.readings.days)
    now_ms = round(time.time() * 1000)
    with contextlib.closing(CsvSpool()) as spool, contextlib.ExitStack() as stack:
        read = read_file(arguments, spool, now_ms)
        if not arguments.dry_run:
            _refuse_bad(arguments, read.bad)
        if read.repeats:
            _repeat(spool, read, now_ms - retention.minute_days * DAY_MS)
        folder = paths.state_dir
        if arguments.dry_run and not paths.readings_db.exists():
            # Looking makes no store
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = ReadingStore(folder, retention, boot_id(), device=RING_DEVICE)
        rules = ImportRules(retention, now_ms // DAY_MS, replaces=arguments.replace)
        work = ReadingImport(spool, rules)
        done = asyncio.run(_stored(store, work, read, arguments))
        if not arguments.dry_run:
            hand_over(folder, _FILES)
        tell = _tell_json if arguments.json else _tell
        tell(arguments, spool, read, done)
    return exits.USAGE if read.bad.count and not arguments.skip_bad else exits.OK


def _refuse_bad(arguments: Namespace, bad: BadRows) -> None:
    if bad.count and not arguments.skip_bad:
        many = sum(bad.count.values())
        raise BadArguments(
            "\n".join(
                (
                    f"nothing was stored: rows of {arguments.file} are not understood ({many})",
                    *bad.lines(),
                    "--skip-bad leaves them out, --dry-run shows how the file is read",
                )
            )
        )


def _repeat(spool: CsvSpool, read: FileRead, by_minute_ms: int) -> None:
    for one in read.found:
        # Older ones are kept by the quarter of an hour
        spool.repeat(one.name, lambda at: _MINUTE_MS if at >= by_minute_ms else QUARTER_MS)


async def _stored(
    store: ReadingStore, work: ReadingImport, read: FileRead, arguments: Namespace
) -> list[Done]:
    """Plan, and store unless it is only looked at; return what comes of each reading."""
    await store.open()
    try:
        known = {one.name: one for one in store.every_series()}
        done = []
        for one in read.found:
            series = known.get(one.name)
            says = FileSays(
                one,
                read.seen[one.name],
                arguments.every or read.distances_s[one.name],
                repeats=read.repeats,
            )
            reading = imported(says, series, store.unfiled(series) if series else None)
            done.append((reading, await _planned(store, work, reading)))
        if not arguments.dry_run:
            await store.database.transact(work.run)
    finally:
        await store.aclose()
    return done


async def _planned(store: ReadingStore, work: ReadingImport, reading: ImportedReading) -> Counted:
    def plan(db: sqlite3.Connection) -> Counted:
        return work.plan(db, reading)

    return await store.database.look(plan)


def _tell(arguments: Namespace, spool: CsvSpool, read: FileRead, done: list[Done]) -> None:
    form, zone = read.form, zone_of(arguments)
    columns = f"columns between {form.delimiter!r}"
    decimal = ", fractions after a comma" if form.decimal == "," else ""
    say(f"{clean(arguments.file)}: {form.layout.value}, {columns}{decimal}")
    for (reading, counted), found in zip(done, read.found, strict=True):
        kind = reading.known.kind
        unit = ", on or off" if kind.is_switch else f", {kind.unit}" if kind.unit else ""
        span = f"{local_text(found.first_ms, zone)} to {local_text(found.last_ms, zone)}"
        new = "" if reading.series else ", a new reading"
        say(f"{reading.kind.name}{unit}{new}: {found.values:,} values, {span}")
        if arguments.dry_run:
            for at_ms, value in spool.some(found.name, _SHOWN_ROWS):
                say(f"  {local_text(at_ms, zone)}  {value:g}")
        say(f"  {_counts(counted, is_done=not arguments.dry_run)}")
    if read.left_out:
        say(f"Left out, their states are no numbers: {', '.join(map(clean, read.left_out))}")
    if read.bad.count:
        say(f"Not understood ({sum(read.bad.count.values())}):")
        for line in read.bad.lines():
            say(clean(line))
    if not done:
        say("The file has no values.")
    if arguments.dry_run:
        say("Nothing was stored: this is a dry run.")


def _counts(counted: Counted, *, is_done: bool) -> str:
    parts = [f"{counted.stored:,} {'stored' if is_done else 'would be stored'}"]
    if counted.there:
        parts.append(f"{counted.there:,} there already, not changed")
    if counted.too_old:
        parts.append(f"{counted.too_old:,} older than what is kept")
    return "; ".join(parts)


def _tell_json(arguments: Namespace, spool: CsvSpool, read: FileRead, done: list[Done]) -> None:
    zone = zone_of(arguments)
    listed = [
        {
            "name": reading.kind.name,
            "unit": reading.known.kind.unit,
            "switch": reading.known.kind.is_switch,
            "new": reading.series is None,
            "from": local_text(found.first_ms, zone),
            "to": local_text(found.last_ms, zone),
            "first": [
                [local_text(at, zone), value] for at, value in spool.some(found.name, _SHOWN_ROWS)
            ],
            "stored": counted.stored,
            "there": counted.there,
            "too_old": counted.too_old,
        }
        for (reading, counted), found in zip(done, read.found, strict=True)
    ]
    bad = [line.strip() for line in read.bad.lines()]
    say_json(
        {
            "layout": read.form.layout.value,
            "readings": listed,
            "bad": sum(read.bad.count.values()),
            "bad_rows": bad,
            "left_out": read.left_out,
            "dry_run": arguments.dry_run,
        }
    )
