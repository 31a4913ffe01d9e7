"""Contradictions among a person's own statements: a new one closes the old one.

Both stay: the old one is hidden behind the new one, from the day on which that was said, and can be
brought back. Never does less trusted text close what is trusted more.
"""

import json
import re
import sqlite3
from collections.abc import Sequence

from msgspec.structs import replace

from agent.memory import curation, rows
from agent.memory.base import Chronicled, Curated, MemoryEntry, Scope
from agent.memory.record import COLUMNS, entry_of
from agent.memory.statement import contradicts, statement_of
from agent.memory.text import asked_tokens
from agent.memory.words import quoted

# A question for what was so before
_PAST_ASKED = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|earlier|used to|in the past|old|once|back then"
    r"|(?<=\w )was|were|did|had|früher|vorher|ehemals|ehemalig\w*|damals|zuvor|alte[nrs]?|war|waren"
    r"|hatte"
    r"|hieß|antes|anterior(?:es|mente)?|antigu[oa]|era|eran|estaba|tenía|vivía|trabajaba|llamaba"
    r"|avant|auparavant|ancien(?:ne)?|précédent\w*|autrefois|était|étaient|avais|avait|habitais"
    r"|travaillais|s'appelait)\b|以前|之前|原来|原先|过去|曾经|从前|前は|前の|昔|もともと|かつて|でしたか|ましたか|していた",
    re.IGNORECASE,
)
# The newest of them: the story of one thing, as far as anybody reads it
MOST_TOLD = 200
MOST_TOKENS = 8

_NAMING = f"""
SELECT {COLUMNS} FROM memories
WHERE owner IN (SELECT value FROM json_each(?))
    AND id IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?)
ORDER BY created_at_s DESC, id DESC LIMIT ?
"""  # noqa: S608 - our own constants


def close(db: sqlite3.Connection, entry: MemoryEntry, now_s: float) -> list[MemoryEntry]:
    """Close what a new statement contradicts, in the caller's transaction; return the closed."""
    if statement_of(entry.content) is None:
        return []
    known = rows.newest(db, replace(entry.scope, session=None), None, curation.MAX_COMPARED)
    contradicted = [old for old in known if _closes(entry, old)]
    return [
        old
        for old in contradicted
        if curation.supersede(db, old.key, entry.key, entry.scope, now_s) is not None
    ]


async def settle(memory: Curated, known: Sequence[MemoryEntry], entry: MemoryEntry) -> list[str]:
    """Close what a new statement contradicts; return the keys of the closed ones.

    Args:
        known: memories of the same owner.

    Raises:
        MemoryUnavailable: some may be closed already.
    """
    closed = [old.key for old in known if _closes(entry, old)]
    return [key for key in closed if await memory.supersede(key, entry.key, entry.scope)]


async def with_former(
    memory: Chronicled, found: Sequence[MemoryEntry], question: str
) -> list[MemoryEntry]:
    """Return these memories, each followed by what was so before it, if the past is asked for.

    Raises:
        MemoryUnavailable: the past cannot be read.
    """
    if not asks_for_the_past(question):
        return list(found)
    told: list[MemoryEntry] = []
    for entry in found:
        told.append(entry)
        told += [replace(one, score=entry.score) for one in await memory.former(entry)]
    return told


def asks_for_the_past(question: str) -> bool:
    return _PAST_ASKED.search(question) is not None


def _closes(new: MemoryEntry, old: MemoryEntry) -> bool:
    is_apart = old.key != new.key and old.scope.owner == new.scope.owner
    return is_apart and contradicts(new.content, old.content)


def timeline(db: sqlite3.Connection, thing: str, scope: Scope) -> list[MemoryEntry]:
    """Return the memories with every word of the thing, oldest first, with their ends."""
    asked = asked_tokens(thing, MOST_TOKENS)
    if not asked:
        return []
    words = " AND ".join(map(quoted, asked))
    found = db.execute(_NAMING, [json.dumps(scope.owners), words, MOST_TOLD])
    told = [_ended(db, entry_of(row)) for row in found]
    return [entry for entry in reversed(told) if entry is not None]


def _ended(db: sqlite3.Connection, entry: MemoryEntry) -> MemoryEntry | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id = ?",  # noqa: S608 - our own constants
        [entry.superseded_by],
    ).fetchone()
    return ended(entry, None if row is None else entry_of(row))


def ended(entry: MemoryEntry, later: MemoryEntry | None) -> MemoryEntry | None:
    """Return the memory with the end that a later one gives it; None for a mere repetition."""
    if later is None:
        return entry
    if not contradicts(later.content, entry.content):
        return None
    return replace(entry, until_s=later.created_at_s)
