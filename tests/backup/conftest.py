import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent.backup.encryption import Keys, Recipients, make_key
from agent.backup.inventory import Inventory
from agent.backup.writer import BackupPlan

# A key, because checking a passphrase takes a quarter of a second
SECRET, PUBLIC = make_key()
RECIPIENTS = Recipients(keys=(PUBLIC,))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with a database that somebody has open, and files of every sort."""
    folder = tmp_path / "state"
    (folder / "workspace" / "skills").mkdir(parents=True)
    (folder / "audit").mkdir()
    (folder / "workspace" / "IDENTITY.md").write_text("I am a greenhouse.")
    (folder / "audit" / "1.jsonl").write_text('{"kind":"begun"}\n')
    (folder / "people.json").write_text("{}")
    (folder / "status.json").write_text("of this run")
    (folder / "lock").write_text("1")
    make_database(folder / "agent.db", 3)
    return folder


def make_database(path: Path, rows: int, schema: int = 7) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE said (text TEXT)")
        db.executemany("INSERT INTO said VALUES (?)", [(f"row {n}",) for n in range(rows)])
        db.execute(f"PRAGMA user_version={schema}")


@pytest.fixture
def plan(state: Path) -> BackupPlan:
    config = state.parent / "barnacle.toml"
    config.write_text('[agent]\nname = "Greenhouse"\n')
    inventory = Inventory(
        state,
        state / "workspace",
        state / "workspace" / "documents",
        config,
        credentials={"telegram_token": "123:abc"},
    )
    return BackupPlan(inventory, RECIPIENTS, "greenhouse")


@pytest.fixture
def keys() -> Keys:
    return Keys(identities=(SECRET,))


@pytest.fixture
def made(plan: BackupPlan, tmp_path: Path) -> Path:
    """A whole backup."""
    path = tmp_path / "device.barnacle-backup"
    plan.write_file(path)
    return path


Spoil = Callable[[Path, int], Path]


@pytest.fixture
def spoiled(tmp_path: Path) -> Spoil:
    """Return a copy of a file with one byte changed."""

    def spoil(path: Path, place: int) -> Path:
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        copy = tmp_path / "spoiled.barnacle-backup"
        copy.write_bytes(data)
        return copy

    return spoil
