import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.embeddings.vectors import MAX_DIMENSIONS, joined, unit


def test_rows_get_length_one() -> None:
    made = unit([[3, 4], [0, 2]])
    assert made.dtype == np.float32
    assert np.allclose(made, [[0.6, 0.8], [0, 1]])


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[math.nan, 1.0]], "direction"),
        ([[math.inf, 1.0]], "direction"),
        ([[0.0, 0.0]], "direction"),
        ([[1.0], [1.0, 2.0]], "2 lengths"),
        ([[]], "0 numbers"),
        ([], "0 lengths"),
        ([[1.0] * (MAX_DIMENSIONS + 1)], "8193 numbers"),
        ([[1.0, 1.0, 1.0]], "3 numbers where 2 are expected"),
    ],
)
def test_what_is_no_vector_is_refused(rows: list[list[float]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unit(rows, 2 if "expected" in reason else 0)


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8))
def test_whatever_has_a_direction_gets_length_one(row: list[float]) -> None:
    if any(abs(number) > 1e-30 for number in row):
        assert np.linalg.norm(unit([row])) == pytest.approx(1, abs=1e-5)


def test_no_parts_are_no_rows() -> None:
    assert joined([], 3).shape == (0, 3)
