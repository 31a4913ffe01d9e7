import gc
from collections.abc import Iterator

import pytest

from agent.system import garbage


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_a_start_is_not_held_up_and_what_it_made_is_not_looked_at_again() -> None:
    garbage.hold()
    assert not gc.isenabled()
    made = [[number] for number in range(1000)]
    assert gc.get_objects(generation=0)
    garbage.settle()
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(made)


def test_what_comes_later_is_collected() -> None:
    garbage.hold()
    garbage.settle()
    ring: list[object] = []
    ring.append(ring)
    del ring
    assert gc.collect() > 0
