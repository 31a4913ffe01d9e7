import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.memory import facts
from agent.memory.brain import Brain
from agent.memory.kept_messages import KeptMessages


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    made = Brain(tmp_path / "brain.db")
    yield made
    await made.aclose()


def nothing(_db: sqlite3.Connection) -> None:
    """Keep a message that leaves nothing but its number."""


async def test_a_kept_number_is_known_without_asking_the_database(brain: Brain) -> None:
    kept = KeptMessages(brain)
    assert await kept.until() is None
    await kept.keep(7, nothing)
    asked: list[str] = []
    await brain.look(lambda db: db.set_trace_callback(asked.append))
    asked.clear()
    assert await kept.until() == 7
    assert asked == []
    assert await KeptMessages(brain).until() == 7


async def test_what_came_to_nothing_is_asked_for_again(brain: Brain) -> None:
    kept = KeptMessages(brain)
    await kept.keep(3, nothing)
    # Another program may do this; here it stands for a commit that a full disk took back
    await brain.run(lambda db: facts.put_kept(db, 2))
    brain._worker.undone += 1
    assert await kept.until() == 2


async def test_a_job_that_fails_leaves_the_number(brain: Brain) -> None:
    kept = KeptMessages(brain)
    await kept.keep(3, nothing)

    def fails(_db: sqlite3.Connection) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await kept.keep(4, fails)
    assert await kept.until() == 3
    assert await brain.look(facts.kept_until) == 3
