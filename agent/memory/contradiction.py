"""Contradictions among a person's own statements: a new one closes the old one.

Both stay: the old one is hidden behind the new one, from the day on which that was said, and can be
brought back. Never does less trusted text close what is trusted more.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.memory.base import Chronicled, Curated, MemoryEntry
from agent.memory.statement import contradicts

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
