import json
import os
import tempfile
from pathlib import Path

import pytest

from agent.backup.encryption import make_key
from agent.backup.record import read_record
from agent.cli import exits
from agent.cli.main import main
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.system.clock import SystemClock
from tests.backup.conftest import make_database

WORKSPACE = "state/workspace"
# A file system of its own on any Linux
MEMORY = "/dev/shm"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own agent, which is no service."""
    state = tmp_path / "state"
    (state / "workspace").mkdir(parents=True)
    (state / "workspace" / "note.md").write_text("water the tomatoes")
    make_database(state / "agent.db", 2)
    (tmp_path / "barnacle.toml").write_text("[agent]\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(state))
    monkeypatch.setenv("BARNACLE_CONFIG", str(tmp_path / "barnacle.toml"))
    return tmp_path


@pytest.fixture
def key(home: Path) -> tuple[str, str]:
    """The file of a secret key, and its public key."""
    secret, public = make_key()
    (home / "key.txt").write_text(secret)
    return str(home / "key.txt"), public


def test_a_backup_is_made_shown_and_verified(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "x.barnacle-backup"
    assert main(["backup", "--to", str(path), "--recipient", key[1]]) == exits.OK
    assert f"written to {path}: 3 parts" in capsys.readouterr().out
    assert main(["backup", "show", str(path), "--key", key[0]]) == exits.OK
    assert "state/agent.db" in capsys.readouterr().out
    assert main(["backup", "verify", str(path), "--key", key[0]]) == exits.OK
    assert "3 parts are as they were" in capsys.readouterr().out


def test_a_folder_gets_a_file_of_the_device_and_the_time(home: Path, key: tuple[str, str]) -> None:
    (home / "usb").mkdir()
    assert main(["backup", "--to", str(home / "usb"), "--recipient", key[1]]) == exits.OK
    (made,) = (home / "usb").iterdir()
    assert made.suffix == ".barnacle-backup"
    record = read_record(home / "state")
    assert record is not None
    assert record.where == str(made)


def test_the_configuration_says_where_and_for_whom(home: Path, key: tuple[str, str]) -> None:
    (home / "kept").mkdir()
    told = f'[backup]\nto = "{home / "kept"}"\nrecipients = ["{key[1]}"]\n'
    (home / "barnacle.toml").write_text(told)
    assert main(["backup"]) == exits.OK
    assert len([*(home / "kept").iterdir()]) == 1


def test_a_folder_that_was_a_disk_and_is_none_is_refused(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "usb").mkdir()
    words = f'[backup]\nto = "{home}/usb"\nrecipients = ["{key[1]}"]\n'
    (home / "barnacle.toml").write_text(words)
    record = {"made_at_s": 1.0, "where": f"{home}/usb/x.barnacle-backup", "is_apart": True}
    (home / "state" / "last-backup.json").write_text(json.dumps(record))
    assert main(["backup"]) == exits.FAILED
    assert f"no disk is mounted at {home}/usb any more" in capsys.readouterr().err
    assert not [*(home / "usb").iterdir()]
    # Another one is somebody's choice
    (home / "other").mkdir()
    assert main(["backup", "--to", f"{home}/other"]) == exits.OK


def test_a_backup_on_another_disk_is_on_record_as_such(home: Path, key: tuple[str, str]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for place, apart in ((folder, True), (str(home), False)):
            assert main(["backup", "--to", place, "--recipient", key[1]]) == exits.OK
            record = read_record(home / "state")
            assert record is not None
            assert record.is_apart is (apart and Path(folder).stat().st_dev != home.stat().st_dev)


def test_a_backup_outlives_those_of_a_clock_that_was_ahead(
    home: Path, key: tuple[str, str]
) -> None:
    (home / "usb").mkdir()
    words = f'[backup]\nto = "{home}/usb"\nkeep = 1\nrecipients = ["{key[1]}"]\n'
    (home / "barnacle.toml").write_text(words)
    assert main(["backup"]) == exits.OK
    (first,) = (home / "usb").iterdir()
    device = first.name.rpartition("-2")[0]
    first.replace(home / "usb" / f"{device}-20870101T033000Z.barnacle-backup")
    assert main(["backup"]) == exits.OK
    record = read_record(home / "state")
    assert record is not None
    assert [str(path) for path in (home / "usb").iterdir()] == [record.where]


def test_the_last_backup_before_a_database_was_damaged_is_never_removed(
    home: Path, key: tuple[str, str]
) -> None:
    (home / "usb").mkdir()
    words = f'[backup]\nto = "{home}/usb"\nkeep = 1\nrecipients = ["{key[1]}"]\n'
    (home / "barnacle.toml").write_text(words)
    memory = home / "state" / "memory.db"
    make_database(memory, 3000)
    assert main(["backup"]) == exits.OK
    (whole,) = (home / "usb").iterdir()
    # A name of the same second would be the same
    whole = whole.replace(whole.with_name(whole.name.replace("-20", "-19", 1)))
    told = json.dumps({"made_at_s": 1.0, "where": str(whole), "whole": str(whole)})
    (home / "state" / "last-backup.json").write_text(told)
    spoiled = bytearray(memory.read_bytes())
    spoiled[4096:16384] = bytes(12288)
    memory.write_bytes(spoiled)
    for _ in range(2):
        assert main(["backup"]) == exits.OK
        assert whole.exists()
        (damaged,) = (path for path in (home / "usb").iterdir() if path != whole)
        damaged.replace(damaged.with_name(damaged.name.replace("-20", "-18", 1)))
    assert main(["backup", "verify", str(whole), "--key", key[0]]) == exits.OK


def test_the_standard_output_is_the_file(
    home: Path, key: tuple[str, str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["backup", "--to", "-", "--recipient", key[1]]) == exits.OK
    said = capfdbinary.readouterr()
    assert said.out.startswith(b"age-encryption.org/v1\n")
    assert b"written to the standard output" in said.err
    (home / "x").write_bytes(said.out)
    assert main(["backup", "verify", str(home / "x"), "--key", key[0]]) == exits.OK


def test_a_damaged_backup_fails(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "x.barnacle-backup"
    main(["backup", "--to", str(path), "--recipient", key[1]])
    path.write_bytes(path.read_bytes()[:-10])
    assert main(["backup", "verify", str(path), "--key", key[0]]) == exits.FAILED
    assert "barnacle: the file ends too early or was changed" in capsys.readouterr().err


def test_what_a_verification_found_is_on_record(home: Path, key: tuple[str, str]) -> None:
    path, other = home / "x.barnacle-backup", home / "y.barnacle-backup"
    for one in (other, path):
        main(["backup", "--to", str(one), "--recipient", key[1]])
    main(["backup", "verify", str(other), "--key", key[0]])
    record = read_record(home / "state")
    # The record is of the last one
    assert record is not None
    assert record.verified_at_s == 0
    main(["backup", "verify", str(path), "--key", key[0]])
    record = read_record(home / "state")
    assert record is not None
    assert (record.verified_at_s > 0, record.verify_trouble) == (True, "")
    path.write_bytes(path.read_bytes()[:-10])
    main(["backup", "verify", str(path), "--key", key[0]])
    record = read_record(home / "state")
    assert record is not None
    assert "ends too early" in record.verify_trouble


def test_json_has_every_part_with_its_hash(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "x.barnacle-backup"
    main(["backup", "--to", str(path), "--recipient", key[1]])
    capsys.readouterr()
    assert main(["backup", "show", str(path), "--key", key[0], "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert {part["name"] for part in told["parts"]} >= {"state/agent.db", "config/barnacle.toml"}
    assert all(len(part["sha256"]) == 64 for part in told["parts"])


def test_a_backup_that_nobody_could_open_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", "--to", str(home)]) == exits.USAGE
    assert "nobody could open this backup" in capsys.readouterr().err


def test_a_passphrase_comes_from_its_file(home: Path) -> None:
    (home / "words").write_text("four words of mine\n")
    path = home / "x.barnacle-backup"
    given = ["--passphrase-file", str(home / "words")]
    assert main(["backup", "--to", str(path), *given]) == exits.OK
    assert main(["backup", "verify", str(path), *given]) == exits.OK


def test_the_missing_key_is_asked_for_by_its_option(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "x.barnacle-backup"
    main(["backup", "--to", str(path), "--recipient", key[1]])
    assert main(["backup", "show", str(path)]) == exits.USAGE
    assert "name the file of the secret one, --key" in capsys.readouterr().err


def test_a_new_key_opens_what_its_public_key_closes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", "key"]) == exits.OK
    said = capsys.readouterr().out
    (home / "new.txt").write_text(said)
    public = said.splitlines()[0].removeprefix("# public key: ")
    path = home / "x.barnacle-backup"
    assert main(["backup", "--to", str(path), "--recipient", public]) == exits.OK
    assert main(["backup", "show", str(path), "--key", str(home / "new.txt")]) == exits.OK


def test_a_place_that_is_neither_folder_nor_backup_is_refused(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", "--to", str(home / "usb"), "--recipient", key[1]]) == exits.USAGE
    assert "connect the disk" in capsys.readouterr().err


def test_a_backup_is_restored_and_its_approvals_confirmed(
    home: Path,
    key: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = home / "x.barnacle-backup"
    approvals = StandingApprovals(home / "state/approvals.json", SystemClock())
    approvals.add(
        StandingApproval(
            call="c", tool="gpio_write", arguments="{}", until_s=approvals.end_s(), words="lamp"
        )
    )
    # What the fixture put there is no journal
    (home / "state/agent.db").unlink()
    main(["backup", "--to", str(path), "--recipient", key[1]])
    (home / WORKSPACE / "note.md").write_text("changed since")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["backup", "restore", str(path), "--key", key[0], "--yes"]) == exits.OK
    said = capsys.readouterr().out
    assert "1 approvals have no effect until `barnacle backup confirm`" in said
    assert (home / WORKSPACE / "note.md").read_text() == "water the tomatoes"
    assert approvals.every() == []
    assert main(["backup", "confirm", "--yes"]) == exits.OK
    assert len(approvals.every()) == 1
    assert main(["backup", "restore", "--continue"]) == exits.OK
    assert "no restore was cut off" in capsys.readouterr().out


def test_what_was_always_allowed_may_be_forgotten(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "state/unconfirmed"
    folder.mkdir()
    (folder / "skills.json").write_text('{"_default": {"1": {"name": "watering"}}}')
    assert main(["backup", "confirm", "--forget"]) == exits.OK
    assert "skill: watering" in capsys.readouterr().out
    assert main(["backup", "confirm"]) == exits.OK
    assert "no approvals of a backup wait" in capsys.readouterr().out


def test_the_workspace_may_be_the_place_of_the_backups(
    home: Path, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = f'[backup]\nto = "{home}/state/workspace"\nrecipients = ["{key[1]}"]\n'
    (home / "barnacle.toml").write_text(words)
    (home / "state" / "workspace" / "old.barnacle-backup").write_text("x")
    assert main(["backup"]) == exits.OK
    made = next((home / "state" / "workspace").glob("*Z.barnacle-backup"))
    capsys.readouterr()
    assert main(["backup", "show", str(made), "--key", key[0], "--json"]) == exits.OK
    names = {part["name"] for part in json.loads(capsys.readouterr().out)["parts"]}
    assert names == {f"{WORKSPACE}/note.md", "state/agent.db", "config/barnacle.toml"}
