"""What reading the whole tree costs: without the garbage collector a quarter of it."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_garbage_collector() -> Iterator[None]:
    """Have it not look through a million nodes of syntax trees, which have no cycles."""
    # What others left is theirs to answer for
    gc.collect()
    gc.disable()
    yield
    # The trees stay until the run ends: nobody looks through them again
    gc.freeze()
    gc.enable()
