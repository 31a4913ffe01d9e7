"""Findings about restores: what was repeated, and what the backup had and the device lacks."""

import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent.backup.encryption import Keys
from agent.backup.verification import unpack
from agent.schedule.job_store import JobStore
from agent.security.approvals import StandingApprovals
from agent.system.clock import SystemClock
from scripts.lib.backup_world import ACTS, BACKUP, SENT, World

_OPEN = " WHERE state IN ('accepted', 'running')"


@dataclass(slots=True)
class Findings:
    """Counts over all restores."""

    restores: int = 0
    kills: int = 0
    acts: int = 0
    repeated_acts: int = 0
    messages: int = 0
    repeated_messages: int = 0
    untold: int = 0
    kept: int = 0
    lost: int = 0

    def note_kept(self, is_there: bool) -> None:  # noqa: FBT001 - what it is about
        """Count a thing of the backup."""
        self.kept += is_there
        self.lost += not is_there

    @property
    def is_clean(self) -> bool:
        return not (self.repeated_acts or self.repeated_messages or self.untold or self.lost)


def count(world: World, found: Findings) -> None:
    """Count what was done and said, and how often again."""
    acts = Counter(row["number"] for row in world.rows(ACTS))
    # A kill in the middle of sending sends the same message again, under the same number
    numbers = {(str(row["id"]), _subject(row)) for row in world.rows(SENT)}
    sent = Counter(subject for _, subject in numbers)
    found.restores += 1
    found.acts += sum(acts.values())
    found.repeated_acts += sum(times - 1 for times in acts.values())
    found.messages += sum(sent.values())
    found.repeated_messages += sum(times - 1 for times in sent.values())
    for subject in [one for one, times in sent.items() if times > 1]:
        again = [row for row in world.rows(SENT) if _subject(row) == subject]
        print(f"said again: {again}", file=sys.stderr)


def compare(world: World, secret: str, found: Findings) -> None:
    """Compare the restored state with the backup."""
    new = world.folder / "unpacked"
    unpack(world.folder / BACKUP, Keys(identities=(secret,)), new)
    old, now = new / "state", world.state
    for path in sorted((old / "workspace").rglob("*.md")):
        there = now / path.relative_to(old)
        found.note_kept(there.exists() and there.read_bytes() == path.read_bytes())
    jobs = {job.name for job in JobStore(now / "jobs.json").every()}
    for job in JobStore(old / "jobs.json").every():
        found.note_kept(job.name in jobs)
    given = StandingApprovals(now / "approvals.json", SystemClock()).every()
    unconfirmed = (now / "unconfirmed/approvals.json").read_text()
    found.note_kept('"call": "c"' in unconfirmed and not given)
    for table, column in (("inbox", "message_id"), ("outbox", "text"), ("turns", "message")):
        there = _column(now / "agent.db", table, column)
        for row in _column(old / "agent.db", table, column):
            found.note_kept(row in there)
    told = " ".join(str(row["text"]) for row in world.rows(SENT))
    for row in _column(old / "agent.db", "inbox", "text", _OPEN):
        found.untold += f'"{row}"' not in told


def _subject(row: dict[str, object]) -> str:
    """Return what a message is about: the one that it answers, or its own text."""
    return str(row["answers"]) or str(row["text"])


def _column(path: Path, table: str, column: str, where: str = "") -> set[object]:
    with closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute(f"SELECT {column} FROM {table}{where}")}  # noqa: S608 - of ours
