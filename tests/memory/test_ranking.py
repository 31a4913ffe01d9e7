import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.ranking import Candidate, Scale, rank, relevance

FLAT = Scale(0.0, 0.0)
WORDS = Scale(1.0, 2.0)
MEANING = Scale(0.2, 0.1)


def test_both_kinds_of_evidence_count_alike() -> None:
    by_words = Candidate(1, strength=5.0, coverage=1.0, cosine=0.2)
    by_meaning = Candidate(2, strength=1.0, coverage=0.0, cosine=0.4)
    by_both = Candidate(3, strength=4.0, coverage=0.8, cosine=0.35)
    neither = Candidate(4, strength=0.0, coverage=0.0, cosine=0.1)
    ranked = rank([neither, by_words, by_meaning, by_both], WORDS, MEANING)
    assert [one.memory_id for one in ranked] == [3, 2, 1, 4]


def test_a_memory_without_a_vector_is_judged_by_its_words_alone() -> None:
    bare = Candidate(1, strength=5.0, coverage=1.0, cosine=None)
    weak = Candidate(2, strength=1.0, coverage=0.2, cosine=0.3)
    assert rank([weak, bare], WORDS, MEANING)[0].memory_id == 1
    assert relevance(bare) == 1.0


def test_without_words_the_meaning_decides() -> None:
    near, far = (Candidate(number, 0.0, None, cosine) for number, cosine in ((1, 0.9), (2, 0.3)))
    assert [one.score for one in rank([far, near], FLAT, MEANING)] == pytest.approx([0.9, 0.3])


def test_among_equals_the_newest_is_first() -> None:
    same = [Candidate(number, 2.0, 0.5, None) for number in (1, 3, 2)]
    assert [one.memory_id for one in rank(same, WORDS, FLAT)] == [3, 2, 1]


def test_a_quarter_of_the_words_is_half_a_score() -> None:
    assert relevance(Candidate(1, 1.0, 0.25, None)) == 0.5
    assert relevance(Candidate(1, 1.0, 0.25, 0.1)) == pytest.approx(0.3)


@pytest.mark.parametrize("cosine", [-1.0, -0.1, 1.0001])
def test_a_score_stays_between_0_and_1(cosine: float) -> None:
    assert 0 <= relevance(Candidate(1, 0.0, None, cosine)) <= 1


@given(
    st.lists(
        st.builds(
            Candidate,
            st.integers(1, 10**6),
            st.floats(0, 50),
            st.floats(0, 1) | st.none(),
            st.floats(-1, 1) | st.none(),
        )
    )
)
def test_scores_never_rise_along_the_ranking(candidates: list[Candidate]) -> None:
    scores = [one.score for one in rank(candidates, WORDS, MEANING)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(candidates)
    assert all(0 <= score <= 1 for score in scores)


@given(st.lists(st.floats(-100, 100), min_size=1))
def test_a_scale_of_sums_is_the_scale_of_the_values(values: list[float]) -> None:
    scale = Scale.of_sums(len(values), sum(values), sum(value * value for value in values))
    assert math.isclose(scale.mean, fmean(values), abs_tol=1e-6)
    assert math.isclose(scale.deviation, pstdev(values), abs_tol=1e-3)


def test_equal_values_have_no_deviation_and_stand_out_by_nothing() -> None:
    scale = Scale.of_sums(3, 0.3, 3 * 0.1 * 0.1)
    assert scale.z(0.1) == scale.z(5.0) == 0.0
    assert Scale.of_sums(0, 0.0, 0.0) == Scale(0.0, 0.0)
