import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.base import CORE, MemoryEntry, Scope
from agent.memory.candidate import MemoryCandidate
from agent.memory.cues import cues_of
from agent.memory.ranking import RankedMemory, Scale, Scales, rank, relevance
from agent.memory.sessions import MemoryNeighbours
from agent.messages import Provenance

FLAT = Scale(0.0, 0.0)
SCALES = Scales(Scale(1.0, 2.0), Scale(0.2, 0.1))
ALONE = MemoryNeighbours(frozenset())


def said(memory_id: int, content: str = "a fact", session: str | None = None) -> MemoryEntry:
    scope = Scope("mei", session)
    return MemoryEntry(memory_id, f"k{memory_id}", content, CORE, Provenance.OWNER, scope, 0, 0)


def ranked(
    candidates: list[MemoryCandidate], question: str = "which one", around: MemoryNeighbours = ALONE
) -> list[RankedMemory]:
    return rank(candidates, SCALES, cues_of(question), around)


def ids(found: list[RankedMemory]) -> list[int]:
    return [one.entry.memory_id for one in found]


def test_both_kinds_of_evidence_count() -> None:
    by_words = MemoryCandidate(said(1), strength=5.0, coverage=1.0, cosine=0.2)
    by_meaning = MemoryCandidate(said(2), strength=1.0, coverage=0.0, cosine=0.5)
    by_both = MemoryCandidate(said(3), strength=4.5, coverage=0.8, cosine=0.45)
    neither = MemoryCandidate(said(4), strength=0.0, coverage=0.0, cosine=0.1)
    found = ids(ranked([neither, by_words, by_meaning, by_both]))
    assert found[0] == 3
    assert found[-1] == 4


def test_words_that_are_close_one_by_one_decide_among_equals() -> None:
    near = MemoryCandidate(said(1), 2.0, 0.5, 0.3, closeness=0.6)
    far = MemoryCandidate(said(2), 2.0, 0.5, 0.3, closeness=0.3)
    assert ids(ranked([far, near])) == [1, 2]


def test_a_memory_without_a_vector_is_judged_by_its_words_alone() -> None:
    bare = MemoryCandidate(said(1), strength=5.0, coverage=1.0)
    weak = MemoryCandidate(said(2), strength=1.0, coverage=0.2, cosine=0.3, closeness=0.2)
    assert ids(ranked([weak, bare]))[0] == 1
    assert relevance(bare) == 1.0


def test_without_words_the_meaning_decides() -> None:
    near, far = (MemoryCandidate(said(one), cosine=cosine) for one, cosine in ((1, 0.9), (2, 0.3)))
    assert [one.score for one in ranked([far, near])] == pytest.approx([0.9, 0.3])


def test_a_model_that_does_not_know_the_words_is_not_listened_to() -> None:
    by_words = MemoryCandidate(said(1), 5.0, 1.0, 0.2, 0.2)
    by_meaning = MemoryCandidate(said(2), 0.0, 0.0, 0.9, 0.9)
    blind = Scales(SCALES.words, SCALES.meaning, understood=0.0)
    found = rank([by_words, by_meaning], blind, cues_of("which one"), ALONE)
    assert ids(found) == [1, 2]
    assert [one.score for one in found] == [1.0, 0.0]


def test_among_equals_the_newest_is_first() -> None:
    same = [MemoryCandidate(said(number), 2.0, 0.5) for number in (1, 3, 2)]
    assert ids(ranked(same)) == [3, 2, 1]


def test_who_is_named_in_the_question_is_who_should_have_said_it() -> None:
    by_tom = MemoryCandidate(said(2, "Tom: the boiler was repaired"), 2.0, 0.5, 0.3)
    by_mei = MemoryCandidate(said(1, "Mei: the boiler was repaired"), 2.0, 0.5, 0.3)
    assert ids(ranked([by_tom, by_mei], "what does Mei say of the boiler"))[0] == 1
    assert ids(ranked([by_tom, by_mei], "what does Tom's note say of the boiler"))[0] == 2


def test_what_follows_a_good_question_is_its_answer() -> None:
    asked = MemoryCandidate(said(1, "where does your sister live?", "chat"), 6.0, 1.0, 0.5)
    answer = MemoryCandidate(said(2, "in Osaka", "chat"), 0.0, 0.0, 0.2)
    other = MemoryCandidate(said(9, "in Kyoto", "elsewhere"), 0.0, 0.0, 0.2)
    around = MemoryNeighbours(frozenset({1, 2, 9}), {1: 2}, {2: 1})
    found = ids(ranked([other, asked, answer], "where does the sister live", around))
    assert found.index(2) < found.index(9)


def test_where_a_number_is_asked_for_a_number_answers() -> None:
    without = MemoryCandidate(said(2, "my sister has cats"), 2.0, 0.5, 0.3)
    with_one = MemoryCandidate(said(1, "my sister has three cats"), 2.0, 0.5, 0.3)
    assert ids(ranked([without, with_one], "how many cats does my sister have"))[0] == 1
    assert ids(ranked([without, with_one], "what does my sister have"))[0] == 2


def test_a_quarter_of_the_words_is_half_a_score() -> None:
    assert relevance(MemoryCandidate(said(1), 1.0, 0.25)) == 0.5
    assert relevance(MemoryCandidate(said(1), 1.0, 0.25, 0.1)) == pytest.approx(0.3)


@pytest.mark.parametrize("cosine", [-1.0, -0.1, 1.0001])
def test_a_score_stays_between_0_and_1(cosine: float) -> None:
    assert 0 <= relevance(MemoryCandidate(said(1), cosine=cosine)) <= 1


@given(
    st.lists(
        st.builds(
            MemoryCandidate,
            st.builds(said, st.integers(1, 10**6), st.text(max_size=30)),
            st.floats(0, 50),
            st.floats(0, 1) | st.none(),
            st.floats(-1, 1) | st.none(),
            st.floats(-1, 1) | st.none(),
        ),
        unique_by=lambda one: one.entry.memory_id,
    ),
    st.text(max_size=40),
)
def test_scores_never_rise_along_the_ranking(
    candidates: list[MemoryCandidate], question: str
) -> None:
    scores = [one.score for one in ranked(candidates, question)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(candidates)
    assert all(0 <= score <= 1 for score in scores)


@given(st.lists(st.floats(-100, 100), min_size=1))
def test_with_no_spread_of_its_own_a_scale_takes_the_usual_one(values: list[float]) -> None:
    scale = Scale.of_values(values, usual=0.5)
    assert math.isclose(scale.mean, fmean(values), abs_tol=1e-6)
    own = pstdev(values)
    assert min(own, 0.5) - 1e-6 <= scale.deviation <= max(own, 0.5) + 1e-6


def test_a_single_match_of_words_stands_out_among_the_usual_others() -> None:
    scale = Scale.of_sums(1, 0.5, 0.25)
    stands_out = scale.z(0.5)
    assert stands_out is not None
    assert stands_out > 3


def test_a_scale_of_equal_values_tells_nothing() -> None:
    assert FLAT.z(5.0) == 0.0
    assert FLAT.z(None) is None
    assert Scale.of_sums(0, 0.0, 0.0).z(0.0) == 0.0
