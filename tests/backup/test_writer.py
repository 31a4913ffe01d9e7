import io
import os
import shutil
import sqlite3
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup import writer
from agent.backup.encryption import Keys, Recipients, make_key
from agent.backup.inventory import SCRATCH
from agent.backup.reader import read_backup
from agent.backup.writer import BackupPlan
from agent.errors import BackupRefused, StorageFull
from tests.backup.conftest import make_database
from tests.fakes.age_tool import decrypt_with_key, needs_age

WORKSPACE = "state/workspace"
# A small backup takes a tenth of it
_WHILE_S = 1.0


def test_a_backup_holds_every_part_as_the_manifest_says(
    plan: BackupPlan, keys: Keys, tmp_path: Path
) -> None:
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    found = read_backup(tmp_path / "x.barnacle-backup", keys)
    assert found.manifest == manifest
    assert found.differences() == {}
    assert {part.name for part in manifest.parts} == {
        "state/agent.db",
        "state/audit/1.jsonl",
        "state/people.json",
        f"{WORKSPACE}/IDENTITY.md",
        "config/barnacle.toml",
        "credentials/telegram_token",
    }


def test_nothing_plain_is_left_anywhere(plan: BackupPlan, state: Path, tmp_path: Path) -> None:
    plan.write_file(tmp_path / "x.barnacle-backup")
    assert not (state / SCRATCH).exists()
    assert b"greenhouse" not in (tmp_path / "x.barnacle-backup").read_bytes()
    assert (tmp_path / "x.barnacle-backup").stat().st_mode & 0o777 == 0o600


def test_a_file_whose_name_is_no_text_is_left_out_and_said(
    plan: BackupPlan, keys: Keys, state: Path, tmp_path: Path
) -> None:
    (state / "workspace" / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    (state / "workspace" / os.fsdecode(b"th\xe9")).symlink_to("/etc")
    plan.write_file(tmp_path / "x.barnacle-backup")
    found = read_backup(tmp_path / "x.barnacle-backup", keys)
    assert found.differences() == {}
    links, names = found.manifest.header.left_out
    assert links.endswith("/th\\xe9")
    assert "not UTF-8" in names
    assert names.endswith("/caf\\xe9.txt")


@needs_age
def test_the_age_tool_and_tar_restore_it_without_us(plan: BackupPlan, tmp_path: Path) -> None:
    secret, public = make_key()
    (tmp_path / "key").write_text(secret)
    path = tmp_path / "x.barnacle-backup"
    replace(plan, recipients=Recipients(keys=(public,))).write_file(path)
    plain = decrypt_with_key(path, tmp_path / "key")
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        tar.extractall(tmp_path / "out", filter="data")
    with closing(sqlite3.connect(tmp_path / "out/state/agent.db")) as db:
        assert db.execute("SELECT count(*) FROM said").fetchone() == (3,)


def test_no_room_is_said_before_anything_is_written(
    plan: BackupPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(StorageFull, match="0 MB free, and the backup needs"):
        plan.write_file(tmp_path / "x.barnacle-backup")
    assert not list(tmp_path.glob("*.barnacle-backup*"))


def test_a_disk_that_fills_up_leaves_the_old_backup(
    plan: BackupPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.barnacle-backup"
    path.write_text("the one before")

    def full(*_given: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(writer, "encrypt", full)
    with pytest.raises(StorageFull, match="make room there"):
        plan.write_file(path)
    assert path.read_text() == "the one before"
    assert not list(tmp_path.glob("*.part"))


def test_a_file_of_somebody_else_is_said_to_be_missing(
    plan: BackupPlan, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def closed(path: object, *rest: int, **more: int) -> int:
        if path == state / "people.json":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *rest, **more)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(os, "open", closed)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert any("people.json cannot be read" in one for one in manifest.header.left_out)
    assert "state/people.json" not in {part.name for part in manifest.parts}


def test_a_folder_of_somebody_else_is_said_to_be_missing(
    plan: BackupPlan, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, skills = os.scandir, state / "workspace" / "skills"

    def closed(path: str | int) -> object:
        if path == str(skills):
            raise PermissionError(13, "Permission denied", path)
        return really(path)

    monkeypatch.setattr(os, "scandir", closed)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert manifest.header.left_out == (f"cannot be looked into: {skills}",)


def test_a_damaged_database_is_kept_as_it_lies_there_and_told_of(
    plan: BackupPlan, state: Path, keys: Keys, tmp_path: Path
) -> None:
    (state / "agent.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert any("agent.db is damaged" in one for one in manifest.header.left_out)
    assert read_backup(tmp_path / "x.barnacle-backup", keys).differences() == {}


def test_damage_in_the_middle_of_a_database_is_told_of(
    plan: BackupPlan, state: Path, keys: Keys, tmp_path: Path
) -> None:
    """Its pages are copied one by one: none of them says that it is wrong."""
    path, page_bytes = state / "memory.db", 4096
    make_database(path, 3000)
    spoiled = bytearray(path.read_bytes())
    spoiled[page_bytes : 4 * page_bytes] = bytes(3 * page_bytes)
    path.write_bytes(spoiled)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert any("memory.db is damaged" in one for one in manifest.header.left_out)
    assert not manifest.is_whole
    found = read_backup(tmp_path / "x.barnacle-backup", keys)
    assert found.differences() == {}
    assert not found.manifest.is_whole


def test_a_database_that_was_set_aside_makes_no_whole_backup(
    plan: BackupPlan, state: Path, tmp_path: Path
) -> None:
    assert plan.write_file(tmp_path / "x.barnacle-backup").is_whole
    (state / "agent.db.corrupt.20270101T033000Z").write_text("x")
    assert not plan.write_file(tmp_path / "x.barnacle-backup").is_whole


def test_what_a_dying_card_cannot_read_does_not_end_the_backup(
    plan: BackupPlan, state: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.pread, os.open
    (state / "log").write_bytes(b"x" * 2_000_000)

    def broken(handle: int, size: int, at: int) -> bytes:
        if 8192 <= at < 12288:
            raise OSError(5, "Input/output error")
        # As the kernel does: up to the bad page
        return really[0](handle, min(size, 8192 - at) if at < 8192 else size, at)

    def closed(path: object, *rest: int, **more: int) -> int:
        if path == state / "people.json":
            raise OSError(5, "Input/output error")
        return really[1](path, *rest, **more)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(os, "pread", broken)
    monkeypatch.setattr(os, "open", closed)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert {part.name for part in manifest.parts} > {"state/agent.db", "state/log"}
    assert manifest.header.left_out == (
        "4096 bytes of state/log cannot be read: the card or disk is failing",
        "state/people.json cannot be read: the card or disk is failing",
    )
    assert not manifest.is_whole
    assert read_backup(tmp_path / "x.barnacle-backup", keys).differences() == {}


def test_a_large_file_that_becomes_shorter_meanwhile_does_not_end_the_backup(
    plan: BackupPlan, state: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, film = os.pread, state / "workspace" / "film.mp4"
    film.write_bytes(b"x" * 2_000_000)

    def rewritten(handle: int, size: int, at: int) -> bytes:
        if at:
            os.truncate(film, 500_000)
        return really(handle, size, at)

    monkeypatch.setattr(os, "pread", rewritten)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    (told,) = manifest.header.left_out
    assert told.startswith(f"the end of {WORKSPACE}/film.mp4, which became shorter")
    # The databases are as good as ever
    assert manifest.is_whole
    found = read_backup(tmp_path / "x.barnacle-backup", keys)
    assert found.differences() == {}
    assert {part.name: part.size_bytes for part in found.manifest.parts}[
        f"{WORKSPACE}/film.mp4"
    ] == 2_000_000


def test_a_database_on_a_dying_card_is_kept_as_far_as_it_can_be_read(
    plan: BackupPlan, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_source: Path, _target: Path) -> int:
        err = sqlite3.OperationalError("disk I/O error")
        # What SQLite makes of EIO
        err.sqlite_errorname = "SQLITE_IOERR_CORRUPTFS"
        raise err

    monkeypatch.setattr(writer, "copy_database", unreadable)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    assert any("agent.db is damaged" in one for one in manifest.header.left_out)
    [part] = [part for part in manifest.parts if part.name == "state/agent.db"]
    assert part.size_bytes == (state / "agent.db").stat().st_size


def test_two_backups_at_once_are_both_whole(
    plan: BackupPlan, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, found = writer.copy_database, []
    make_database(state / "memory.db", 3)

    def second() -> None:
        found.append(plan.write_file(tmp_path / "second.barnacle-backup"))

    other = threading.Thread(target=second)

    def copied(source: Path, target: Path) -> int:
        if source.name == "memory.db" and threading.current_thread() is not other:
            other.start()
            other.join(timeout=_WHILE_S)
        return really(source, target)

    monkeypatch.setattr(writer, "copy_database", copied)
    found.append(plan.write_file(tmp_path / "first.barnacle-backup"))
    other.join()
    assert len(found) == 2
    for manifest in found:
        names = {part.name for part in manifest.parts}
        assert names > {"state/agent.db", "state/memory.db"}


def test_a_database_that_is_removed_meanwhile_is_left_out(
    plan: BackupPlan, state: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, gone = writer.copy_database, state / "workspace" / "of-a-tool.db"
    make_database(gone, 3)

    def copied(source: Path, target: Path) -> int:
        if source == gone:
            gone.unlink()
        return really(source, target)

    monkeypatch.setattr(writer, "copy_database", copied)
    manifest = plan.write_file(tmp_path / "x.barnacle-backup")
    names = {part.name for part in manifest.parts}
    assert "state/agent.db" in names
    assert f"{WORKSPACE}/of-a-tool.db" not in names
    assert read_backup(tmp_path / "x.barnacle-backup", keys).differences() == {}


def test_a_folder_that_is_not_there_is_refused(plan: BackupPlan, tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="connect what belongs there"):
        plan.write_file(tmp_path / "usb" / "x.barnacle-backup")


def test_a_database_as_large_as_a_year_of_readings_is_never_in_memory(
    plan: BackupPlan, state: Path
) -> None:
    large = 40_000_000
    with closing(sqlite3.connect(state / "readings.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE day (data BLOB)")
        db.execute(f"INSERT INTO day VALUES (zeroblob({large}))")
    pieces = [0]

    def most(data: bytes) -> Iterator[int]:
        pieces.append(len(data))
        yield len(data)

    plan.write(lambda data: next(most(data)))
    assert sum(pieces) > large
    assert max(pieces) < 100_000


def test_what_a_power_cut_left_of_a_backup_goes_before_room_is_looked_for(
    plan: BackupPlan, tmp_path: Path
) -> None:
    """Each has a name of its own, and none counts as one of those to keep."""
    name = f"{plan.device}-20270101T033000Z.barnacle-backup"
    cut, running = tmp_path / f"{name}.part", tmp_path / name.replace("0330", "0430")
    running = running.with_name(f"{running.name}.part")
    others = tmp_path / f"other-{name}.part"
    for path in (cut, running, others):
        path.write_bytes(b"x")
    for path in (cut, others):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    plan.write_file(tmp_path / "x.barnacle-backup")
    assert {path.name for path in tmp_path.glob("*.part")} == {running.name, others.name}
