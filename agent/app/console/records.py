"""Records for the pages: readings, decisions, jobs, memories and people."""

import asyncio
from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent.access.browser_sessions import BrowserSessions
from agent.access.people import BROWSERS, Person
from agent.access.roles import PersonRole
from agent.app.build import Agent
from agent.errors import BadArguments
from agent.memory.base import CONVERSATION, Scope
from agent.security.access import Circle

if TYPE_CHECKING:
    from agent.readings.series import Series
    from agent.readings.store import ReadingStore

_HOUR_MS = 3_600_000
# Spans that a page asks for, with the width of a point: some hundred points each
_SPANS = {
    "6h": (6 * _HOUR_MS, 3 * 60_000),
    "24h": (24 * _HOUR_MS, 10 * 60_000),
    "7d": (168 * _HOUR_MS, _HOUR_MS),
    "30d": (720 * _HOUR_MS, 4 * _HOUR_MS),
}
_SPARK_MS = (24 * _HOUR_MS, 30 * 60_000)
_MOST_CURVES = 12
_MOST_ROWS = 100
_MOST_MEMORIES = 100
_SHOWN_CHARS = 300


class RecordViews:
    """Data of the pages about the past."""

    def __init__(self, agent: Agent, sessions: BrowserSessions) -> None:
        self._agent = agent
        self._sessions = sessions

    async def readings(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the series, and the points of those that are asked for."""
        record = self._agent.peripherals.record
        if record is None or not may_see_readings(self._agent, person):
            return {"series": [], "curves": []}
        await record.store.open()
        every = record.store.every_series()
        wanted = {name for name in arguments.get("names", "").split(",") if name}
        span = _SPANS.get(arguments.get("span", ""), _SPANS["24h"])
        chosen = [one for one in every if one.name in wanted][:_MOST_CURVES]
        return {
            "series": [_described(one) for one in every],
            "curves": [await _curve(self._agent, record.store, one, span) for one in chosen],
        }

    async def audit(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the newest rows of the audit log, newest first."""
        return await latest_rows(self._agent, _MOST_ROWS, only_effects=False)

    async def jobs(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the visitor's jobs."""
        return [
            {
                "name": job.name,
                "state": job.state.value,
                "cron": job.cron,
                "at_s": job.at_s,
                "every_s": job.every_s,
                "text": (job.prompt or job.message)[:_SHOWN_CHARS],
                "ran_s": job.ran_s,
                "result": job.result[:_SHOWN_CHARS],
                "failures": job.failures,
            }
            for job in await self._agent.scheduler.book.of(person.person_id)
        ]

    async def memory(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the visitor's memories, newest first."""
        scope, memory = Scope(person.person_id), self._agent.memory.memory
        found = await memory.list(scope, limit=_MOST_MEMORIES)
        facts = [one for one in found if one.category != CONVERSATION]
        return {
            "count": await memory.count(scope),
            "facts": [
                {
                    "text": one.content[:_SHOWN_CHARS],
                    "by": one.provenance.name.lower(),
                    "source": one.source[:_SHOWN_CHARS],
                    "at_s": one.updated_at_s,
                }
                for one in facts
            ],
        }

    async def people(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return all who have access, with their browsers."""
        return [
            {
                "name": one.name,
                "role": one.role,
                "accounts": [
                    {
                        "channel": account.channel,
                        "id": account.sender if account.is_browser else "",
                        "since_s": account.paired_at_s,
                        "is_here": account.sender == arguments["browser"],
                    }
                    for account in one.accounts
                    if account.stands(self._agent.clock.wall_s())
                ],
            }
            for one in self._agent.access.people.everyone()
        ]

    async def revoke(self, person: Person, arguments: Mapping[str, str]) -> bool:
        """End the session of one browser."""
        browser = arguments.get("id", "")
        if not self._sessions.stands(browser):
            raise BadArguments("no browser with that name has access")
        people = self._agent.access.people
        return await asyncio.to_thread(people.forget_account, BROWSERS, browser)


def may_see_readings(agent: Agent, person: Person) -> bool:
    """Return true if readings are shared with that person."""
    circle = agent.settings.workspace.shares.readings
    if circle is Circle.EVERYBODY or person.rank is PersonRole.OWNER:
        return True
    return circle is Circle.HOUSEHOLD and person.rank >= PersonRole.USER


async def sparklines(agent: Agent, *, is_whole: bool) -> list[dict[str, Any]]:
    """Return the newest value of each number of a board, with its last day if `is_whole`."""
    record = agent.peripherals.record
    if record is None:
        return []
    newest = record.store.newest()
    shown = [one for one in newest if not one.kind.is_switch and one.kind.is_board]
    return [
        {
            **_described(one),
            "value": newest[one].value,
            "at_ms": newest[one].at_ms,
            "points": (await _curve(agent, record.store, one, _SPARK_MS))["values"]
            if is_whole
            else [],
        }
        for one in shown[:_MOST_CURVES]
    ]


async def latest_rows(agent: Agent, limit: int, *, only_effects: bool) -> list[dict[str, Any]]:
    """Return the newest rows of the audit log, newest first."""
    return await asyncio.to_thread(_rows, agent, limit, only_effects=only_effects)


def _rows(agent: Agent, limit: int, *, only_effects: bool) -> list[dict[str, Any]]:
    from agent.security.audit import MAX_LINE_BYTES, files_of  # noqa: PLC0415 - for those who look
    from agent.security.audit_chain import Broken, untied  # noqa: PLC0415 - as above

    rows: list[dict[str, Any]] = []
    # The newest two files hold thousands of rows
    for path in reversed(files_of(agent.paths.audit)[-2:]):
        with path.open("rb") as file:
            lines = deque(iter(lambda: file.readline(MAX_LINE_BYTES), b""), maxlen=limit * 20)
        for line in reversed(lines):
            try:
                rows.append(_shortened(untied(line)[0]))
            except Broken:
                continue
    decided = {row["call"]: row for row in rows if row.get("kind") == "decision" and "call" in row}
    wanted = (row for row in rows if not only_effects or row.get("kind") == "effect")
    return [_explained(row, decided) for row in islice(wanted, limit)]


def _explained(row: dict[str, Any], decided: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the row, with whose word led to it where it is what came of a decision."""
    if row.get("kind") != "effect":
        return row
    before = decided.get(row.get("call", ""), {})
    return {**{name: before[name] for name in ("person", "rule") if name in before}, **row}


def _shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value[:_SHOWN_CHARS] if isinstance(value, str) else value
        for name, value in row.items()
        if not isinstance(value, dict | list)
    }


async def _curve(
    agent: Agent, store: "ReadingStore", series: "Series", span_ms: tuple[int, int]
) -> dict[str, Any]:
    from agent.readings.columns import in_buckets  # noqa: PLC0415 - for those who look

    end_ms = round(agent.clock.wall_s() * 1000)
    rows = await store.rows(series, end_ms - span_ms[0], end_ms)
    columns = in_buckets(rows, span_ms[1])
    return {
        **_described(series),
        "at_s": [at_ms // 1000 for at_ms in columns.at_ms],
        "values": [round(mean, 3) for mean in columns.means],
    }


def _described(series: "Series") -> dict[str, Any]:
    kind = series.kind
    return {"name": kind.name, "unit": kind.unit, "is_switch": kind.is_switch}
