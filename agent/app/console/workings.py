"""Workings of the agent for its owner: the model and its cost, the channels, the log."""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from agent.access.people import Person
from agent.app.build import Agent
from agent.app.providers import model_choices
from agent.messaging.channel_supervisor import ChannelHealth, Supervisor
from agent.system.recent_log import RecentLog

# A fortnight shows a bill that grows
_MOST_DAYS = 14
# Older messages say nothing of how a channel is
_NEWEST_ROWS = 1000
_NOTHING: Mapping[str, Any] = {"last_s": 0.0, "waiting": 0, "lost": 0}
_LEAST_LEVELS = {"warning": logging.WARNING, "error": logging.ERROR}


class WorkingViews:
    """Data of the pages about how the agent works.

    Args:
        supervisors: of the channels; they are added when the agent is at work.
        environ: where keys of services may be.
    """

    def __init__(
        self,
        agent: Agent,
        supervisors: Sequence[Supervisor],
        log: RecentLog,
        environ: Mapping[str, str],
    ) -> None:
        self._agent = agent
        self._supervisors = supervisors
        self._log = log
        self._environ = environ

    async def models(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return who answers, who else may, and what each of the last days cost."""
        agent = self._agent
        choices = model_choices(agent.settings, self._environ)
        days = await agent.journal.look(_days)
        return {
            "service": choices.service,
            "model": choices.model,
            "trouble": agent.provider.trouble,
            "routes": [{"name": name, "model": model} for name, model in choices.routes.items()],
            "fallbacks": list(choices.fallbacks),
            "today": agent.providers.spending(),
            "days": days,
        }

    async def channels(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return each way to talk to the device: whether it works, and what waits there."""
        activity = self._agent.activity
        counts = await self._agent.journal.look(_counts)
        return [
            {
                "name": one.channel.name,
                "state": one.hearing.value,
                "is_well": one.hearing is ChannelHealth.LISTENING and one.is_healthy(),
                "trouble": activity.troubles.get(one.channel.name, ""),
                "gap": activity.gaps.get(one.channel.name, ""),
                "heard_s": None if one.channel.pulse is None else one.channel.pulse.age_s,
                **counts.get(one.channel.name, _NOTHING),
            }
            for one in self._supervisors
        ]

    async def log(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the newest lines of the log, the newest first."""
        least = _LEAST_LEVELS.get(arguments.get("level", ""), logging.NOTSET)
        return [
            {"at_s": line.at_s, "level": _word(line.level), "text": line.text}
            for line in self._log.lines(least)
        ]


def _days(db: sqlite3.Connection) -> list[dict[str, Any]]:
    rows = db.execute(
        "SELECT name, requests, input_tokens + output_tokens, usd, unpriced_tokens FROM spent"
        " WHERE kind = 'day' ORDER BY name DESC LIMIT ?",
        (_MOST_DAYS,),
    )
    names = ("day", "requests", "tokens", "usd", "unpriced_tokens")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _counts(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """Return by channel when somebody wrote last, and the answers that are not through."""
    heard = db.execute(
        "SELECT channel, max(received_at_s) FROM"
        " (SELECT channel, received_at_s FROM inbox ORDER BY id DESC LIMIT ?) GROUP BY channel",
        (_NEWEST_ROWS,),
    )
    found = {channel: {**_NOTHING, "last_s": last_s} for channel, last_s in heard}
    owed = db.execute(
        "SELECT channel, sum(state = 'pending'), sum(state = 'dead') FROM"
        " (SELECT channel, state FROM outbox ORDER BY id DESC LIMIT ?) GROUP BY channel",
        (_NEWEST_ROWS,),
    )
    for channel, waiting, lost in owed:
        found.setdefault(channel, dict(_NOTHING)).update(waiting=waiting, lost=lost)
    return found


def _word(level: int) -> str:
    return logging.getLevelName(level).lower()
