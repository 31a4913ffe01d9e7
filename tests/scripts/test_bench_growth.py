import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

from agent.messaging import inbox
from agent.schedule.job_store import JobStore
from agent.security.audit import files_of
from scripts.lib.bench import growth_state
from scripts.lib.bench.growth_chart import Curve, drawn

SHARE = 0.02


def _count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        (number,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(number)


def test_a_share_of_a_long_life_is_on_the_disk(tmp_path: Path) -> None:
    messages = growth_state.fill(tmp_path, SHARE)
    assert messages == growth_state.MESSAGES * SHARE < inbox.MOST_SETTLED
    assert _count(tmp_path / "agent.db", "inbox") == messages
    assert _count(tmp_path / "agent.db", "outbox") == messages
    assert _count(tmp_path / "memory" / "brain.db", "memories") == growth_state.MEMORIES * SHARE
    assert len(JobStore(tmp_path / "jobs.json").every()) == 1
    assert files_of(tmp_path / "audit")


def test_each_curve_is_drawn_from_zero_to_its_greatest_value() -> None:
    picture = drawn([Curve("turn", [0, 10], [1, 4]), Curve("<files>", [0, 10], [0, 0])])
    lines = [one for one in ET.fromstring(picture).iter() if one.tag.endswith("polyline")]
    assert [one.get("points") for one in lines] == [
        "34.0,95.5 226.0,34.0",
        "294.0,116.0 486.0,116.0",
    ]
