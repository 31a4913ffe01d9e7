"""Settlement of a state out of a backup: nothing of it is done or said a second time.

What was in flight then may have been done since, by the agent that went on working. It is closed
with a reason, and told. Jobs need a clock that is believed; without one they wait for it.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import tzinfo
from pathlib import Path

from msgspec.structs import replace

from agent.access.people import PeopleStore
from agent.backup import unconfirmed
from agent.backup.inventory import AGENT_DB
from agent.errors import BadArguments
from agent.messaging.journal import MIGRATIONS, InboxState, OutboxState
from agent.readings import packing
from agent.schedule.cron import slots
from agent.schedule.job import Job, State
from agent.schedule.job_store import JobStore
from agent.schedule.timer_store import TimerStore
from agent.security.audit import Audit
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from agent.system.clock import SystemClock
from agent.text.printable import printable_line

JOBS, TIMERS, PEOPLE = "jobs.json", "timers.json", "people.json"
_READINGS_DB, _AUDIT = "readings.db", "audit"
_MAX_CHARS = 120
_BEGUN = "begun"
# More messages than any agent has sent since its last backup
_NUMBERS_SKIPPED = 1_000_000
_NOT_REPEATED = "open in a backup that was restored: not repeated"
# Keys of rooms that were used since: others refuse to read a place in them twice
_ROOM_KEYS = ("spoken", "shared")


def settle(state_dir: Path, device: str, made_at_s: float) -> tuple[str, ...]:
    """Close everything but the jobs; return what was open, a line each."""
    closed = [*_close_messages(state_dir / AGENT_DB), *_close_timers(state_dir / TIMERS)]
    unconfirmed.set_aside(state_dir)
    _renew_marks(state_dir)
    _record(state_dir, device, made_at_s)
    return tuple(closed)


def settle_jobs(path: Path, made_at_s: float, now_s: float, zone: tzinfo | None) -> tuple[str, ...]:
    """Close every time of a job up to now; return what was due since the backup, a line each."""
    store = JobStore(path)
    closed = []
    for job in store.every():
        after, why = _settled_job(job, made_at_s, now_s, zone)
        with contextlib.suppress(BadArguments):
            store.change(job.name, lambda _, after=after: after)  # type: ignore[misc]  # bound now
        if why:
            said = printable_line(job.message or job.prompt, _MAX_CHARS)
            closed.append(f"job {job.name} ({said}): {why}")
    return tuple(closed)


def people_of(state_dir: Path) -> tuple[str, ...]:
    """Return who has access, a line each."""
    everyone = PeopleStore(state_dir / PEOPLE, SystemClock()).everyone()
    return tuple(f"{one.name} ({one.role})" for one in everyone)


def _settled_job(job: Job, made_at_s: float, now_s: float, zone: tzinfo | None) -> tuple[Job, str]:
    why = ""
    after = replace(job, seen_s=now_s if job.cron else job.seen_s)
    if job.every_s:
        after = replace(after, ran_s=max(now_s, job.ran_s))
    if job.at_s and job.state is State.WAITING and job.at_s <= now_s:
        after, why = replace(after, state=State.DONE), "its time came after the backup"
    elif job.cron and job.state is State.WAITING and _was_due(job, made_at_s, now_s, zone):
        why = "its times since the backup are not made up for"
    if job.run_now:
        after, why = replace(after, run_now=False), "somebody had ordered it at once"
    if job.result == _BEGUN:
        why = "it was at work"
    if why:
        after = replace(after, result=_NOT_REPEATED)
    return after, why


def _was_due(job: Job, made_at_s: float, now_s: float, zone: tzinfo | None) -> bool:
    first_s = next(slots(job.cron, min(made_at_s, now_s), zone), None)
    return first_s is not None and first_s <= now_s


def _close_messages(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with closing(open_database(path, MIGRATIONS, SMALL_PAGE_BYTES)) as db:
        db.execute("BEGIN IMMEDIATE")
        asked = db.execute(
            "SELECT channel, sender, text, acted FROM inbox"
            " WHERE state IN ('accepted', 'running') ORDER BY id"
        ).fetchall()
        unsent = db.execute(
            "SELECT channel, recipient, text FROM outbox WHERE state = 'pending' ORDER BY id"
        ).fetchall()
        db.execute(
            "UPDATE inbox SET state = ? WHERE state IN ('accepted', 'running')",
            (InboxState.RESTORED.value,),
        )
        db.execute(
            "UPDATE outbox SET state = ? WHERE state = 'pending'", (OutboxState.RESTORED.value,)
        )
        _skip_numbers(db)
        db.execute("COMMIT")
    for channel, sender, text, acted in asked:
        begun = ", and a tool had begun to act" if acted else ""
        yield f"message of {sender} on {channel}: {_line(text)}: not answered{begun}"
    for channel, recipient, text in unsent:
        yield f"my message to {recipient} on {channel}: {_line(text)}: not sent"


def _skip_numbers(db: sqlite3.Connection) -> None:
    """Give later messages numbers that none has had since the backup.

    Platforms drop a message whose number they know.
    """
    for table in ("inbox", "outbox"):
        (last,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()  # noqa: S608 - names of ours
        number = last + _NUMBERS_SKIPPED
        if table == "inbox":
            db.execute(
                "INSERT INTO inbox (id, channel, message_id, sender, reply_target, text,"
                " provenance, received_at_s, state) VALUES (?, '', ?, '', '', '', 0, 0, ?)",
                (number, f"restored-{number}", InboxState.RESTORED.value),
            )
        else:
            db.execute(
                "INSERT INTO outbox (id, channel, recipient, in_reply_to, text, state)"
                " VALUES (?, '', '', '', '', ?)",
                (number, OutboxState.RESTORED.value),
            )


def _close_timers(path: Path) -> Iterator[str]:
    store = TimerStore(path)
    for timer in store.every():
        store.remove(timer.number)
        what = printable_line(timer.name or timer.text or timer.order, _MAX_CHARS)
        yield f"timer of {timer.seconds / 60:.0f} min ({what}): stopped"


def _renew_marks(state_dir: Path) -> None:
    """Make what other places hold of the time since not its own."""
    readings = state_dir / _READINGS_DB
    if readings.exists():
        with closing(open_database(readings, packing.MIGRATIONS)) as db:
            packing.renew_mark(db)
    for vault in state_dir.glob("*/vault.db"):
        with closing(sqlite3.connect(vault, isolation_level=None)) as db:
            for table in _ROOM_KEYS:
                with contextlib.suppress(sqlite3.OperationalError):
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours


def _record(state_dir: Path, device: str, made_at_s: float) -> None:
    if not (state_dir / _AUDIT).is_dir():
        return
    audit = Audit(state_dir / _AUDIT, str, SystemClock())
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made_at_s))
    audit.append(
        {"kind": "restored", "reason": f"from the backup of {device}, {made}"}, durable=True
    )
    audit.close()


def _line(text: str) -> str:
    return f'"{printable_line(text, _MAX_CHARS)}"'
