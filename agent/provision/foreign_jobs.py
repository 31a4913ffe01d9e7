"""Jobs of other agents: lists of OpenClaw and nanobot, databases of ZeroClaw and OpenClaw."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agent.errors import BarnacleError
from agent.storage.foreign import open_foreign
from agent.text.printable import printable_line

# A configuration that somebody wrote by hand, and a list of jobs
_MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_SHOWN_CHARS = 80


class NoAgent(BarnacleError):
    """A folder that is none of a known agent; the text says what was looked for."""


class Left(Struct, frozen=True):
    """A thing that is not taken, and the reason."""

    what: str
    why: str


class ForeignJob(Struct, frozen=True):
    """A job of another agent; one of `cron`, `at_s` and `every_s`."""

    name: str
    prompt: str = ""
    message: str = ""
    cron: str = ""
    at_s: float = 0.0
    every_s: float = 0.0
    zone: str = ""
    enabled: bool = True


def table_in(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the table of that name; an empty one where it is missing or something else."""
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def text_of(path: Path) -> str:
    """Return a file's text; raise NoAgent where it is too large for one."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise NoAgent(f"{path} is larger than {_MAX_FILE_BYTES // 1024**2} MB")
    return path.read_text("utf-8-sig", errors="replace")


def listed_jobs(path: Path, left: list[Left]) -> Iterator[ForeignJob]:
    """Yield the jobs of OpenClaw and nanobot, which have one form; note those that are none."""
    if not path.is_file():
        return
    try:
        listed = json.loads(text_of(path)).get("jobs", [])
    except (ValueError, AttributeError):
        left.append(Left(str(path.name), "it is no list of jobs"))
        return
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            yield from _listed(one, left)


def openclaw_jobs(folder: Path, left: list[Left]) -> Iterator[ForeignJob]:
    """Yield the jobs of OpenClaw: of its database, else of the list that it had before."""
    rows = _rows(folder / "state/openclaw.sqlite", left)
    if not rows:
        yield from listed_jobs(folder / "cron/jobs.json", left)
    for row in rows:
        name, kind = row.get("name") or row.get("job_id"), row.get("payload_kind")
        if kind not in {"agentTurn", "systemEvent"}:
            shown = printable_line(f"job {name}", _MAX_SHOWN_CHARS)
            left.append(Left(shown, f"it is not for the model: {kind}"))
            continue
        said = row.get("payload_message")
        schedule = {
            "kind": row.get("schedule_kind"),
            "expr": row.get("schedule_expr"),
            "tz": row.get("schedule_tz"),
            "everyMs": row.get("every_ms"),
            "at": row.get("at"),
        }
        payload = {"kind": kind, "text": said, "message": said}
        enabled = row.get("enabled", 1)
        yield from _listed(
            {"name": name, "enabled": enabled, "schedule": schedule, "payload": payload}, left
        )


def _listed(one: Mapping[str, Any], left: list[Left]) -> Iterator[ForeignJob]:
    payload = table_in(one, "payload")
    message = payload.get("text") if payload.get("kind") == "systemEvent" else ""
    name = str(one.get("name") or one.get("id") or "job")
    is_enabled = bool(one.get("enabled", True))
    prompt = "" if message else str(payload.get("message") or "")
    yield from _job(
        name, prompt, str(message or ""), table_in(one, "schedule"), left, enabled=is_enabled
    )


def zeroclaw_jobs(path: Path, left: list[Left]) -> Iterator[ForeignJob]:
    """Yield the jobs of ZeroClaw that are for its model; note the others."""
    rows = _rows(path, left)
    for row in rows:
        name = str(row.get("name") or row.get("id") or "job")
        schedule = _schedule_of(row)
        prompt = str(row.get("prompt") or "")
        if not prompt:
            command = printable_line(str(row.get("command") or ""), _MAX_SHOWN_CHARS)
            left.append(Left(f"job {name}", f"it runs a command: {command}"))
            continue
        yield from _job(name, prompt, "", schedule, left, enabled=bool(row.get("enabled", 1)))


def _rows(path: Path, left: list[Left]) -> list[dict[str, Any]]:
    """Return the rows of a database of jobs; note one that cannot be read."""
    if not path.is_file():
        return []
    try:
        with closing(open_foreign(path)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM cron_jobs")]
    except sqlite3.Error as err:
        left.append(Left(f"{path.parent.name}/{path.name}", f"it cannot be read: {err}"))
        return []


def _schedule_of(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        schedule = json.loads(row.get("schedule") or "null")
    except ValueError:
        schedule = None
    if isinstance(schedule, dict):
        return schedule
    return {"kind": "cron", "expr": str(row.get("expression") or "")}


def _job(
    name: str,
    prompt: str,
    message: str,
    schedule: Mapping[str, Any],
    left: list[Left],
    *,
    enabled: bool,
) -> Iterator[ForeignJob]:
    shown = printable_line(name, _MAX_SHOWN_CHARS)
    if not prompt and not message:
        left.append(Left(f"job {shown}", "it says nothing to do"))
        return
    job = ForeignJob(name, prompt, message, zone=str(schedule.get("tz") or ""), enabled=enabled)
    every_ms = schedule.get("everyMs") or schedule.get("every_ms")
    at_s = _at_s(schedule)
    match schedule.get("kind"):
        case "cron" if schedule.get("expr"):
            yield msgspec.structs.replace(job, cron=str(schedule["expr"]))
        case "every" if isinstance(every_ms, int | float):
            yield msgspec.structs.replace(job, every_s=every_ms / 1000)
        case "at" if at_s:
            yield msgspec.structs.replace(job, at_s=at_s)
        case _:
            left.append(Left(f"job {shown}", "its time is not understood"))


def _at_s(schedule: Mapping[str, Any]) -> float:
    at_ms = schedule.get("atMs") or schedule.get("at_ms")
    if isinstance(at_ms, int | float):
        return at_ms / 1000
    try:
        at = datetime.fromisoformat(str(schedule.get("at") or ""))
    except ValueError:
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
