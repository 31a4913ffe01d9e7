import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup import verification
from agent.backup.encryption import Keys
from agent.backup.verification import verify
from agent.errors import StorageFull


def test_every_part_of_a_good_backup_is_right(made: Path, keys: Keys, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = verify(made, keys, scratch)
    assert not found.troubles
    assert {one.name: one.schema for one in found.checks}["state/agent.db"] == 7
    assert not list(scratch.iterdir())


def test_a_database_that_is_not_sound_is_named(
    made: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = verification.unpack

    def spoil(path: Path, with_keys: Keys, folder: Path) -> object:
        found = really(path, with_keys, folder)
        (folder / "state/agent.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        return found

    monkeypatch.setattr(verification, "unpack", spoil)
    (trouble,) = verify(made, keys, tmp_path).troubles
    assert trouble.name == "state/agent.db"


def test_a_schema_that_is_not_the_manifests_is_named(
    made: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "schema_of", lambda _path: 99)
    (trouble,) = verify(made, keys, tmp_path).troubles
    assert trouble.trouble == "has schema 99, and the manifest says 7"


def test_no_room_is_said_first(
    made: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(StorageFull, match="--scratch"):
        verify(made, keys, tmp_path)


def test_a_part_that_differs_is_named(
    made: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = verification.unpack

    def other(path: Path, with_keys: Keys, folder: Path) -> object:
        found = really(path, with_keys, folder)
        part = found.seen["state/people.json"]
        found.seen["state/people.json"] = replace(part, sha256="0")
        return found

    monkeypatch.setattr(verification, "unpack", other)
    (trouble,) = verify(made, keys, tmp_path).troubles
    assert trouble.trouble == "differs from the manifest"
