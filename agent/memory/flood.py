"""Keeping what people said in sight when pages have said the same thing ten thousand times.

Untrusted memories may fill every place among the candidates and every place in the answer: the
best of what people said is looked at too, and near-duplicates of a page take one place.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from agent.memory.base import Scope
from agent.memory.ranking import Ranked
from agent.memory.sessions import Turn
from agent.memory.text import tokens
from agent.messages import Provenance

# Below it nobody vouches for what is said
TRUSTED = Provenance.USER
# Newest memories of people that are looked at when a flood has taken every place
MAX_PEOPLES = 5000
# What is said more often than that is a repetition
TOLD_TWICE = 2
# Contents that share this part of all their words say the same
_SAME = 0.6
# A memory is known by its beginning
_COMPARED_TOKENS = 64
_TRUSTED_NAMES = json.dumps([one.name.lower() for one in Provenance if one >= TRUSTED])


def is_flooded(candidates: Sequence[Turn], places: int) -> bool:
    """Return true if these fill every place and no person vouches for any of them."""
    return len(candidates) >= places and all(one.provenance < TRUSTED for one in candidates)


def of_people(db: sqlite3.Connection, scope: Scope) -> list[int]:
    """The newest memories that people vouch for."""
    found = db.execute(
        "SELECT id FROM entries WHERE owner IN (SELECT value FROM json_each(?))"
        " AND provenance IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?",
        [json.dumps(scope.owners), _TRUSTED_NAMES, MAX_PEOPLES],
    )
    return [row[0] for row in found]


def spread(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Untrusted memories that only say the same once more come after all others."""
    said: list[frozenset[str]] = []
    first: list[Ranked] = []
    repeated: list[Ranked] = []
    for one in ranked:
        if one.entry.provenance >= TRUSTED:
            first.append(one)
            continue
        words = frozenset(list(tokens(one.entry.content))[:_COMPARED_TOKENS])
        if sum(_are_alike(words, other) for other in said) < TOLD_TWICE:
            first.append(one)
            said.append(words)
        else:
            repeated.append(one)
    # What stands behind another is no more relevant than it
    lowest = min((one.score for one in first), default=1.0)
    return [*first, *(replace(one, score=min(one.score, lowest)) for one in repeated)]


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * len(one | other)
