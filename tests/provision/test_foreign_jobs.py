import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.provision.foreign_jobs import Left, zeroclaw_jobs


@pytest.mark.parametrize("name", ["card#2", "50%41", "what?"])
def test_a_folder_of_any_name_is_read_and_nothing_is_made_beside_it(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name / "jobs.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE cron_jobs (name TEXT, prompt TEXT, expression TEXT)")
        db.execute("INSERT INTO cron_jobs VALUES ('soil', 'Look at the soil.', '0 9 * * *')")
    left: list[Left] = []
    assert [job.name for job in zeroclaw_jobs(path, left)] == ["soil"]
    assert left == []
    assert [*tmp_path.iterdir()] == [path.parent]
