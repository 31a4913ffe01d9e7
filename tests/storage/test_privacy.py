import os
from pathlib import Path

import pytest

from agent.storage.database import open_database
from agent.storage.files import write_atomic
from agent.storage.privacy import create_private, private_umask


@pytest.fixture(autouse=True)
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_database_and_its_log_are_for_us_alone(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "state" / "a.db", ("CREATE TABLE notes (text TEXT)",))
    connection.execute("INSERT INTO notes VALUES ('secret')")
    assert mode(tmp_path / "state") == 0o700
    assert {path.name: mode(path) for path in (tmp_path / "state").iterdir()} == {
        "a.db": 0o600,
        "a.db-wal": 0o600,
        "a.db-shm": 0o600,
    }
    connection.close()


def test_a_file_that_is_written_whole_has_a_folder_for_us_alone(tmp_path: Path) -> None:
    write_atomic(tmp_path / "state" / "a.json", b"{}")
    assert (mode(tmp_path / "state"), mode(tmp_path / "state" / "a.json")) == (0o700, 0o600)


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("kept")
    create_private(path)
    assert path.read_text() == "kept"


def test_while_it_holds_whatever_is_made_is_for_us_alone(tmp_path: Path) -> None:
    with private_umask():
        (tmp_path / "in").touch()
        (tmp_path / "folder").mkdir()
    (tmp_path / "after").touch()
    modes = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert modes == {"in": 0o600, "folder": 0o700, "after": 0o666}
