"""What reading the whole tree costs: without the garbage collector a quarter of it."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_garbage_collector() -> Iterator[None]:
    """Have it not look through a million nodes of syntax trees, which have no cycles."""
    gc.disable()
    yield
    gc.enable()
