import sqlite3
import stat
from pathlib import Path

import pytest

from agent.channels.matrix.encryption.vault import KeyVault
from agent.errors import ChannelUnavailable


async def told(folder: Path, name: str, value: str = "") -> str:
    vault = KeyVault(folder)
    if value:
        await vault.transact(lambda shelf: shelf.tell(name, value))
    found = await vault.look(lambda shelf: f"{shelf.told(name)} {shelf.key.hex()}")
    await vault.aclose()
    return found


async def test_what_is_kept_is_there_after_a_restart_and_for_us_alone(tmp_path: Path) -> None:
    folder = tmp_path / "matrix"
    first = await told(folder, "a", "b")
    assert first.startswith("b ")
    assert await told(folder, "a") == first
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


async def test_what_fails_changes_nothing(tmp_path: Path) -> None:
    vault = KeyVault(tmp_path)

    def fails(shelf: object) -> None:
        assert hasattr(shelf, "tell")
        shelf.tell("a", "b")
        raise LookupError

    with pytest.raises(LookupError):
        await vault.transact(fails)
    assert await vault.look(lambda shelf: shelf.told("a")) == ""
    await vault.aclose()


async def test_a_folder_that_takes_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "matrix").write_text("a file")
    vault = KeyVault(tmp_path / "matrix")
    with pytest.raises(ChannelUnavailable, match="cannot use"):
        await vault.transact(lambda shelf: shelf.tell("a", "b"))
    await vault.aclose()


async def test_forgetting_leaves_no_row(tmp_path: Path) -> None:
    vault = KeyVault(tmp_path)
    await vault.transact(lambda shelf: shelf.tell("a", "b"))
    await vault.transact(lambda shelf: shelf.empty())
    await vault.aclose()
    db = sqlite3.connect(tmp_path / "vault.db")
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert len(tables) == 10
    assert all(db.execute(f"SELECT count(*) FROM {one}").fetchone() == (0,) for one in tables)
    db.close()
