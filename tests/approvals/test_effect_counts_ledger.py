import time
from contextlib import closing
from pathlib import Path

import pytest

from agent.approvals import effect_counts
from agent.messaging.journal import MIGRATIONS
from agent.security.audit_chain import Link
from agent.security.policy import ActCount
from agent.storage.database import open_database

LINK = Link(7, "a" * 64)


def test_what_the_agent_noted_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(open_database(path, MIGRATIONS)) as database:
        effect_counts.note(database, ["", "pump"], "turn", time.time() - 5)
        effect_counts.anchor(database, LINK)
        # Also while it is open
        assert effect_counts.read_anchor(path) == LINK
        once = ActCount(0, 1, 1)
        assert effect_counts.read_counters(path) == {"": once, "pump": once}


def test_a_place_that_is_none_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(open_database(path, MIGRATIONS)) as database:
        database.execute("INSERT INTO audit_anchor (id, link) VALUES (1, 'x')")
    assert effect_counts.read_anchor(path) is None


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_without_a_database_nothing_is_known_and_none_is_made(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "agent.db"
    if content is not None:
        path.write_bytes(content)
    assert (effect_counts.read_anchor(path), effect_counts.read_counters(path)) == (None, {})
    assert path.exists() == (content is not None)
