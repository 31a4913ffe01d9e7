"""Ranking of found memories: every weight, with its reason, in this one place.

Measured on the development half of LoCoMo (each conversation a store), R@1 / R@5 / R@10, weights by
leaving one conversation out, then fixed for all; and R@5 on English sentences of XQuAD:

    words and vectors, z-scores, half and half           37 / 60 / 69    94.0
    + the turns around it, its conversation              34 / 66 / 76
    + who is named, which day is named, is it a question 42 / 72 / 80
    + what follows a question, what the answer must have 48 / 75 / 81
    + words compared one by one, as signs of 384 numbers 53 / 77 / 83    94.9

What is missing is left out, and the rest counts whole.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct, field

from agent.memory.base import MemoryEntry, Scope
from agent.memory.candidate import MemoryCandidate
from agent.memory.cues import Cues, is_question, speaker_of
from agent.memory.sessions import MemoryNeighbours

# Memories of each kind that are found, and of all that are then looked at closely with what was
# said around them: more changes nothing among the first ten
FOUND = 100
CANDIDATES = 50

# What is known of the memory itself, each on the scale of how far it stands out
WORDS_WEIGHT = 0.2
MEANING_WEIGHT = 0.1
CLOSENESS_WEIGHT = 0.8
_ALL_EVIDENCE = WORDS_WEIGHT + MEANING_WEIGHT + CLOSENESS_WEIGHT
# The two before and the two after it, summed
AROUND_WEIGHT = 0.04
# The best three of its conversation
SESSION_WEIGHT = 0.17
# How far the question stands out that was asked right before it
ANSWERS_WEIGHT = 0.14
# Said by whom the question names; against it when the question names somebody else
SPEAKER_WEIGHT = 1.1
DAY_WEIGHT = 5.0
# From the time that is named relative to now. It decides where words do not, and no more: what
# people tell of last week they tell next week as well
TIME_WEIGHT = 1.5
# Whatever its words are: who asks for yesterday wants what was yesterday
_TIME_RELEVANCE = 0.5
# A memory that asks is seldom one that tells
QUESTION_WEIGHT = -0.3
ANSWER_CUE_WEIGHT = 1.6

# A neighbour that nobody has found stands out by less than the mean
_UNKNOWN_NEIGHBOUR = -0.5
_BESIDE = 4
# Conversations that a household's memories came up in
_KNOWN_SCOPES = 256
_BEST_OF_SESSION = 3
# In a store of a few memories, chance differences must not look like much: as if this many others
# were there, spread as usual
_USUAL_MEMORIES = 20
USUAL_COSINES = 0.12
USUAL_CLOSENESS = 0.05
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


class Scale(Struct, frozen=True):
    """Mean and standard deviation of a measure over all memories."""

    mean: float
    deviation: float

    @classmethod
    def of_sums(cls, count: int, total: float, squares: float) -> "Scale":
        """Return the scale of word matches among `count` memories; most match nothing."""
        whole = count + _USUAL_MEMORIES
        mean = total / whole
        return cls(mean, math.sqrt(max(0.0, squares / whole - mean * mean)))

    @classmethod
    def of_spread(cls, count: int, mean: float, deviation: float, usual: float) -> "Scale":
        """Return the scale of `count` values, widened by the usual spread if they are few."""
        spread = count * deviation**2 + _USUAL_MEMORIES * usual**2
        return cls(mean, math.sqrt(spread / (count + _USUAL_MEMORIES)))

    @classmethod
    def of_values(cls, values: Collection[float], usual: float) -> "Scale":
        count = len(values)
        mean = math.fsum(values) / count if count else 0.0
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls.of_spread(count, mean, math.sqrt(squares / count) if count else 0.0, usual)

    def z(self, value: float | None) -> float | None:
        if value is None:
            return None
        return (value - self.mean) / self.deviation if self.deviation else 0.0


class Scales(Struct, frozen=True):
    """Scales of both first measures, over all visible memories.

    Args:
        understood: which part of the question the model has words for; a model that is nearly blind
            in a language is hardly listened to.
        memories: in the store, however few were found; 0 where nobody counts them.
    """

    words: Scale
    meaning: Scale
    understood: float = 1.0
    memories: int = 0

    def standing(self, candidate: MemoryCandidate) -> float:
        return self.of(candidate.strength, candidate.coverage, candidate.cosine)

    def of(self, strength: float, coverage: float | None, cosine: float | None) -> float:
        """Return how far a memory stands out by words and vector together, as far as known."""
        by_words = None if coverage is None else self.words.z(strength)
        return 2 * _mean(by_words, 1.0, self.meaning.z(cosine), self.understood)


class CandidateRelations(Struct, frozen=True):
    """Relations of the candidates to each other and to the question."""

    cues: Cues
    surroundings: MemoryNeighbours
    standings: Mapping[int, float] = field(default_factory=dict)
    sessions: Mapping[tuple[str, str], float] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    asking: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        candidates: Sequence[MemoryCandidate],
        scales: Scales,
        cues: Cues,
        around: MemoryNeighbours,
    ) -> "CandidateRelations":
        standings = {one.entry.memory_id: scales.standing(one) for one in candidates}
        sessions: dict[tuple[str, str], list[float]] = {}
        for one in candidates:
            if (place := _conversation(one.entry.scope)) is not None:
                sessions.setdefault(place, []).append(standings[one.entry.memory_id])
        best = {
            place: sum(sorted(values)[-_BEST_OF_SESSION:]) / _BEST_OF_SESSION
            for place, values in sessions.items()
        }
        named = cues.named({speaker_of(one.entry.content) for one in candidates})
        asking = (one.entry.memory_id for one in candidates if is_question(one.entry.content))
        return cls(cues, around, standings, best, named, frozenset(asking))

    def weight_of(self, entry: MemoryEntry) -> float:
        """Return what a memory's circumstances add to its own scores.

        A question looks at a hundred and more: what it does not ask for is not looked at.
        """
        memory_id, cues = entry.memory_id, self.cues
        weight = AROUND_WEIGHT * self._around(memory_id)
        # Outside of any conversation nothing is known but the memory itself
        place = _conversation(entry.scope)
        weight += SESSION_WEIGHT * (
            self.standings[memory_id] if place is None else self.sessions[place]
        )
        before = self.surroundings.preceding.get(memory_id)
        if before is not None and before in self.asking:
            weight += ANSWERS_WEIGHT * self.standings.get(before, 0.0)
        if self.named:
            weight += SPEAKER_WEIGHT * self._speaker(entry.content)
        if cues.day is not None:
            weight += DAY_WEIGHT * cues.day.nearness(entry.created_at_s)
        if self.is_then(entry):
            weight += TIME_WEIGHT
        if memory_id in self.asking:
            weight += QUESTION_WEIGHT
        if cues.has_answer(entry.content):
            weight += ANSWER_CUE_WEIGHT
        return weight

    def _around(self, memory_id: int) -> float:
        """Return how far the memories beside it stand out together."""
        total, unknown = 0.0, _BESIDE
        for one in self.surroundings.beside(memory_id):
            value = self.standings.get(one)
            if value is not None:
                total += value
                unknown -= 1
        return total + _UNKNOWN_NEIGHBOUR * unknown

    def is_then(self, entry: MemoryEntry) -> bool:
        return self.cues.is_then(entry.content, entry.created_at_s)

    def _speaker(self, content: str) -> float:
        speaker = speaker_of(content)
        if not speaker:
            return 0.0
        return 1.0 if speaker in self.named else -1.0


class RankedMemory(Struct, frozen=True):
    """A memory and its relevance, 0..1."""

    entry: MemoryEntry
    score: float


def rank(
    candidates: Sequence[MemoryCandidate], scales: Scales, cues: Cues, around: MemoryNeighbours
) -> list[RankedMemory]:
    """Return the most relevant first; the newest among equals."""
    circumstances = CandidateRelations.of(candidates, scales, cues, around)
    closeness = Scale.of_values(
        [one.closeness for one in candidates if one.closeness is not None], USUAL_CLOSENESS
    )

    standing = {
        one.entry.memory_id: evidence(one, scales, closeness) + circumstances.weight_of(one.entry)
        for one in candidates
    }
    ordered = sorted(
        candidates,
        key=lambda one: (standing[one.entry.memory_id], one.entry.memory_id),
        reverse=True,
    )
    highest = standing[ordered[0].entry.memory_id] if ordered else 0.0
    believed = belief(ordered, highest, SearchedStore(scales.memories, scales.understood))
    # What stands before a memory is at least as relevant as it
    relevances = (
        max(
            relevance(one, scales.understood) * believed,
            _TIME_RELEVANCE if circumstances.is_then(one.entry) else 0.0,
        )
        for one in reversed(ordered)
    )
    scores = list(accumulate(relevances, max))[::-1]
    return [RankedMemory(one.entry, score) for one, score in zip(ordered, scores, strict=True)]


def evidence(candidate: MemoryCandidate, scales: Scales, closeness: Scale) -> float:
    """Return how far a memory stands out by itself; unknown parts are left out."""
    by_words = None if candidate.coverage is None else scales.words.z(candidate.strength)
    by_meaning = scales.meaning.z(candidate.cosine), MEANING_WEIGHT * scales.understood
    by_closeness = closeness.z(candidate.closeness), CLOSENESS_WEIGHT * scales.understood
    return _mean(by_words, WORDS_WEIGHT, *by_meaning, *by_closeness) * _ALL_EVIDENCE


def relevance(candidate: MemoryCandidate, understood: float = 1.0) -> float:
    """Return the fit of a memory on a scale that is the same for every question.

    The mean of the cosine and of the root of the coverage: of the asked words a good answer has a
    quarter or more.
    """
    covered = None if candidate.coverage is None else math.sqrt(candidate.coverage)
    near = None if candidate.cosine is None else min(1.0, max(0.0, candidate.cosine))
    return _mean(covered, 1.0, near, understood)


@lru_cache(maxsize=_KNOWN_SCOPES)
def _conversation(scope: Scope) -> tuple[str, str] | None:
    return None if scope.session is None else (scope.owner, scope.session)


def _mean(
    value: float | None,
    weight: float,
    second: float | None,
    second_weight: float,
    third: float | None = None,
    third_weight: float = 0.0,
) -> float:
    """Return the weighed mean of the known values."""
    # Some hundred times a question: what packs the values takes longer than this
    total = whole = 0.0
    if value is not None:
        total, whole = value * weight, weight
    if second is not None:
        total, whole = total + second * second_weight, whole + second_weight
    if third is not None:
        total, whole = total + third * third_weight, whole + third_weight
    return total / whole if whole else 0.0


class SearchedStore(Struct, frozen=True):
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


def belief(ordered: Sequence[MemoryCandidate], standing: float, store: SearchedStore) -> float:
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
