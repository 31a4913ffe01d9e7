import time
from contextlib import closing
from pathlib import Path

import pytest

from agent.dispatch import ledger, tally
from agent.dispatch.journal import MIGRATIONS
from agent.security.chain import Link
from agent.security.policy import Done
from agent.storage.db import open_database

LINK = Link(7, "a" * 64)


def test_what_the_agent_noted_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(open_database(path, MIGRATIONS)) as database:
        tally.note(database, ["", "pump"], "turn", time.time() - 5)
        tally.anchor(database, LINK)
        # Also while it is open
        assert ledger.anchor(path) == LINK
        assert ledger.counters(path) == {"": Done(0, 1, 1), "pump": Done(0, 1, 1)}


def test_a_place_that_is_none_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(open_database(path, MIGRATIONS)) as database:
        database.execute("INSERT INTO audit_anchor (id, link) VALUES (1, 'x')")
    assert ledger.anchor(path) is None


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_without_a_database_nothing_is_known_and_none_is_made(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "agent.db"
    if content is not None:
        path.write_bytes(content)
    assert (ledger.anchor(path), ledger.counters(path)) == (None, {})
    assert path.exists() == (content is not None)
