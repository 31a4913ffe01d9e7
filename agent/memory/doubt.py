"""Doubt about everything that was found: in a large store something fits any message by chance.

A message is believed to be about a memory where one of the first has most of its telling words, or
is near in meaning, or stands out with its conversation. Measured on a conversation of 680 turns
with 276 unrelated messages in two halves, the figures chosen on one of them: what is left is 3 and
2 % with the model, 6 and 5 % by words (12 and 16, 56 and 58 % without doubt); of the questions
whose answer is among the first five, 100 and 98.5 % keep it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agent.memory.candidate import MemoryCandidate

# What is doubted scores this part: less than `memory.min_score`, however well one word fits
DOUBTED = 0.39
# In a store of so few memories nothing is doubted, and in one of so many everything fully
_FEW, _MANY = 50, 700
# As many as a prompt shows
_FIRST = 5
# Most of the telling words, and not only everybody's words
_COVERAGE, _STRENGTH = 0.55, 5.0
# Words and conversation together
_STANDING = 6.5
# A model that understands tells better; words must say more to overrule it
_COSINE = 0.32
_COVERAGE_BESIDE, _STRENGTH_BESIDE = 0.65, 6.0
_UNDERSTOOD = 0.5


@dataclass(frozen=True, slots=True)
class Store:
    """Circumstances of a search.

    Args:
        memories: in the store; 0 where nobody counts them, and nothing is doubted.
        understood: which part of the question the model has words for.
    """

    memories: int = 0
    understood: float = 1.0

    @property
    def size(self) -> float:
        """Return 0 for a small store to 1 for a large one."""
        if self.memories <= _FEW:
            return 0.0
        return min(1.0, math.log(self.memories / _FEW) / math.log(_MANY / _FEW))


def belief(ordered: Sequence[MemoryCandidate], standing: float, store: Store) -> float:
    """Return the factor for every score: 1, or `DOUBTED`.

    Args:
        ordered: best first.
        standing: of the best.
    """
    first = ordered[:_FIRST]
    if not first or not store.size:
        return 1.0
    cosines = [one.cosine for one in first if one.cosine is not None]
    if not cosines:
        is_told = standing >= _STANDING * store.size or any(
            _has_words(one, _COVERAGE, _STRENGTH, store.size) for one in first
        )
    elif store.understood >= _UNDERSTOOD:
        is_told = max(cosines) >= _COSINE * store.size or any(
            _has_words(one, _COVERAGE_BESIDE, _STRENGTH_BESIDE, store.size) for one in first
        )
    else:
        is_told = True
    return 1.0 if is_told else DOUBTED


def _has_words(one: MemoryCandidate, coverage: float, strength: float, size: float) -> bool:
    is_covered = (one.coverage or 0.0) >= coverage * size
    return is_covered and one.strength >= strength * size
