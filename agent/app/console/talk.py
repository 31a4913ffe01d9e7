"""The conversation of a browser as it was: what was said there, and what came of it."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agent.access.people import BROWSERS, Person
from agent.app.console.files import described
from agent.channels.console.frames import MAX_TOLD_BYTES
from agent.messaging.journal import InboxState
from agent.storage.worker import DatabaseWorker

# More than a person scrolls back on a telephone
_MOST_MESSAGES = 60
_MOST_CHARS = 20_000
_SAID = """
SELECT inbox.id, inbox.text, inbox.state, inbox.received_at_s, inbox.more, outbox.text, outbox.id,
    outbox.files
FROM inbox LEFT JOIN outbox ON outbox.inbox_id = inbox.id
WHERE inbox.channel = ? AND inbox.reply_target = ? ORDER BY inbox.id DESC LIMIT ?
"""
_TOLD = """
SELECT id, text, files FROM outbox WHERE channel = ? AND recipient = ? AND inbox_id IS NULL
ORDER BY id DESC LIMIT 5
"""
_OPEN = frozenset({InboxState.ACCEPTED.value, InboxState.RUNNING.value})


class TalkView:
    """Messages of one browser; its name is the conversation's."""

    def __init__(self, journal: DatabaseWorker) -> None:
        self._journal = journal

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the newest messages, oldest first, and what was told unasked."""
        return await self._journal.look(partial(_read, browser=arguments["browser"]))


def _read(db: sqlite3.Connection, browser: str) -> dict[str, Any]:
    rows = db.execute(_SAID, (BROWSERS, browser, _MOST_MESSAGES)).fetchall()
    told = db.execute(_TOLD, (BROWSERS, browser)).fetchall()
    return {
        "messages": _newest(rows),
        "told": [
            {"text": text[:_MOST_CHARS], "files": described(files, "out", number)}
            for number, text, files in reversed(told)
        ],
    }


def _newest(rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return the messages, oldest first: as many of the newest as one answer may hold."""
    found: list[dict[str, Any]] = []
    left_bytes = MAX_TOLD_BYTES
    for number, text, state, at_s, more, answer, answer_id, files in rows:
        one = {
            "id": number,
            "text": text[:_MOST_CHARS],
            "state": state,
            "is_open": state in _OPEN,
            "at_s": at_s,
            "files": described(more, "in", number),
            "answer": (answer or "")[:_MOST_CHARS],
            "answer_files": described(files, "out", answer_id),
        }
        left_bytes -= len(msgspec.json.encode(one))
        if left_bytes < 0:
            break
        found.append(one)
    return found[::-1]
