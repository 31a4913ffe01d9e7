import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup import restore as restoring
from agent.backup import switching
from agent.backup.aftermath import read_note
from agent.backup.inventory import Inventory
from agent.backup.restore import OutsideFolders, go_on, restore
from agent.backup.writer import BackupPlan
from agent.errors import BackupRefused, StateInUse, StorageFull
from agent.health.ownership import foreign
from agent.storage import lock
from agent.storage.lineage import Lineage, read_lineage, write_lineage
from agent.system import crash_points
from tests.backup.conftest import make_database
from tests.fakes.backed_up import KEYS, RECIPIENTS, BackedUpDevice

NOW_S = time.time()


@pytest.fixture
def old(tmp_path: Path) -> BackedUpDevice:
    """The device whose card dies."""
    (tmp_path / "old").mkdir()
    device = BackedUpDevice(tmp_path / "old")
    device.fill(NOW_S)
    device.credentials["telegram_token"] = "123:abc"
    return device


@pytest.fixture
def new(tmp_path: Path) -> BackedUpDevice:
    """Another one, which has been used a little."""
    (tmp_path / "new").mkdir()
    device = BackedUpDevice(tmp_path / "new")
    device.config.write_text('[agent]\nname = "Blank"\n')
    (device.state / "workspace" / "own.md").write_text("of before")
    (device.state / "history").write_text("of before")
    return device


@pytest.fixture
def backup(old: BackedUpDevice, tmp_path: Path) -> Path:
    return old.backup(tmp_path / "x.barnacle-backup")


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_the_device_is_that_of_the_backup(backup: Path, new: BackedUpDevice) -> None:
    restore(backup, KEYS, new.target(NOW_S + 3600))
    assert (new.state / "workspace" / "IDENTITY.md").read_text() == "I am a greenhouse."
    assert not (new.state / "workspace" / "own.md").exists()
    assert 'name = "Greenhouse"' in new.config.read_text()
    assert new.credentials == {"telegram_token": "123:abc"}
    assert not (new.state / ".restore").exists()


def test_what_was_there_is_kept_and_named(backup: Path, new: BackedUpDevice) -> None:
    kept = Path(restore(backup, KEYS, new.target(NOW_S)).kept)
    assert kept.parent == new.state
    assert (kept / "workspace" / "own.md").read_text() == "of before"
    assert (kept / "history").read_text() == "of before"


@pytest.mark.skipif(os.geteuid() != 0, reason="owners of folders: needs root")
def test_a_workspace_elsewhere_that_was_not_there_is_the_agent_s(
    old: BackedUpDevice, new: BackedUpDevice, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "note.md").write_text("water the tomatoes")
    inventory = Inventory(old.state, place, old.state / "documents", old.config)
    BackupPlan(inventory, RECIPIENTS, "greenhouse").write_file(tmp_path / "x.barnacle-backup")
    shutil.rmtree(place)
    os.chown(new.state, 12345, 12345)
    target = replace(new.target(NOW_S), outside=lambda _config: OutsideFolders(workspace=place))
    restore(tmp_path / "x.barnacle-backup", KEYS, target)
    assert {path.stat().st_uid for path in (place, *place.iterdir())} == {12345}


@pytest.mark.skipif(os.geteuid() != 0, reason="owners of folders: needs root")
def test_what_root_sets_aside_is_the_agent_s_and_what_was_root_s_stays_so(
    backup: Path, new: BackedUpDevice
) -> None:
    def put_machine(_values: object, kept: Path) -> None:
        (kept / "machine").mkdir()
        (kept / "machine" / "barnacle-wifi.nmconnection").touch(0o600)

    for path in (new.state, *new.state.rglob("*")):
        os.chown(path, 12345, 12345)
    target = new.target(NOW_S)
    system = replace(target.system, put_machine=put_machine)
    kept = Path(restore(backup, KEYS, replace(target, system=system)).kept)
    assert {path.stat().st_uid for path in (kept, kept / "history")} == {12345}
    assert (kept / "machine").stat().st_uid == 0
    # Neither a fault nor to be handed over
    assert foreign(new.state) == []


def test_a_folder_around_the_state_stays_where_it_is(
    old: BackedUpDevice, new: BackedUpDevice, tmp_path: Path
) -> None:
    """A home folder as documents: with it the state would go in the middle of the switch."""
    around = new.state.parent
    (around / "mine.md").write_text("of before")
    (tmp_path / "old" / "sheet.md").write_text("of the backup")
    inventory = Inventory(old.state, old.state / "workspace", tmp_path / "old", old.config)
    backup = tmp_path / "x.barnacle-backup"
    BackupPlan(inventory, RECIPIENTS, "greenhouse").write_file(backup)
    target = replace(new.target(NOW_S), outside=lambda _config: OutsideFolders(documents=around))
    note = restore(backup, KEYS, target)
    assert (new.state / "workspace" / "IDENTITY.md").read_text() == "I am a greenhouse."
    assert (around / "mine.md").read_text() == "of before"
    assert note.left[0].startswith(f"the folder documents: {around} holds the state folder")


def test_a_damaged_database_does_not_keep_the_rest_from_being_restored(
    old: BackedUpDevice, new: BackedUpDevice, tmp_path: Path
) -> None:
    memory = old.state / "memory.db"
    make_database(memory, 3000)
    spoiled = bytearray(memory.read_bytes())
    spoiled[4096:16384] = bytes(12288)
    memory.write_bytes(spoiled)
    restore(old.backup(tmp_path / "x.barnacle-backup"), KEYS, new.target(NOW_S))
    assert (new.state / "workspace" / "IDENTITY.md").read_text() == "I am a greenhouse."
    assert (new.state / "memory.db").read_bytes()[20_000:] == bytes(spoiled)[20_000:]


def test_an_empty_device_keeps_nothing(backup: Path, tmp_path: Path) -> None:
    blank = BackedUpDevice(tmp_path / "blank")
    shutil.rmtree(blank.state)
    blank.state.mkdir()
    assert restore(backup, KEYS, blank.target(NOW_S)).kept == ""


def test_a_running_agent_is_left_alone(backup: Path, new: BackedUpDevice) -> None:
    with lock.hold(new.state), pytest.raises(StateInUse):
        restore(backup, KEYS, new.target(NOW_S))
    assert (new.state / "history").exists()


def test_a_backup_of_a_later_version_is_refused(
    backup: Path, new: BackedUpDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(new.root)
    monkeypatch.setattr(restoring, "__version__", "0.1.9")
    with pytest.raises(BackupRefused, match=r"install 0\.2\.0 or a later one"):
        restore(backup, KEYS, new.target(NOW_S))
    assert tree(new.root) == {**before, "state/lock": str(os.getpid()).encode()}


def test_a_damaged_backup_changes_nothing(backup: Path, new: BackedUpDevice) -> None:
    before = tree(new.root)
    backup.write_bytes(backup.read_bytes()[:-20])
    with pytest.raises(BackupRefused):
        restore(backup, KEYS, new.target(NOW_S))
    assert tree(new.root) == {**before, "state/lock": str(os.getpid()).encode()}


def test_a_name_that_is_no_text_is_set_aside_like_any_other(
    backup: Path, new: BackedUpDevice
) -> None:
    name = os.fsdecode(b"caf\xe9")
    (new.state / name).write_text("of long ago")
    kept = Path(restore(backup, KEYS, new.target(NOW_S)).kept)
    assert (kept / name).read_text() == "of long ago"
    assert not (new.state / name).exists()


def test_no_room_is_said_first(
    backup: Path, new: BackedUpDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(new.state)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(StorageFull, match="make room"):
        restore(backup, KEYS, new.target(NOW_S))


def test_credentials_that_no_service_takes_are_said(backup: Path, new: BackedUpDevice) -> None:
    note = restore(backup, KEYS, replace(new.target(NOW_S), takes_credentials=False))
    assert [line for line in note.left if line.startswith("the service's credentials")]


def test_each_restore_raises_the_epoch(backup: Path, new: BackedUpDevice) -> None:
    restore(backup, KEYS, new.target(NOW_S))
    assert read_lineage(new.state).epoch == 1
    write_lineage(new.state, Lineage("greenhouse", 7))
    note = restore(backup, KEYS, new.target(NOW_S))
    assert read_lineage(new.state).epoch == note.epoch == 8


def test_the_note_says_what_was_open(backup: Path, new: BackedUpDevice) -> None:
    restore(backup, KEYS, new.target(NOW_S + 3600))
    note = read_note(new.state)
    assert note is not None
    assert any("pump on" in line for line in note.closed)
    assert not note.is_told


def passes(action: Callable[[], object]) -> list[str]:
    """Return the crash points that an action passes, in their order."""
    seen: list[str] = []
    crash_points.arm(seen.append)
    try:
        action()
    finally:
        crash_points.arm(None)
    return seen


def cut_at(number: int, action: Callable[[], object]) -> bool:
    """Run an action in a process that ends at a crash point; return true if it came there."""
    child = os.fork()
    if child == 0:
        left = number

        def end(_name: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)

        crash_points.arm(end)
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_cut_at_any_point_leaves_the_old_or_the_new(
    backup: Path, new: BackedUpDevice, tmp_path: Path
) -> None:
    def whole() -> None:
        restore(backup, KEYS, new.target(NOW_S + 3600))

    before = tmp_path / "before"
    shutil.copytree(new.root, before)
    count = len(passes(whole))
    assert count > 8
    after = {name for name in tree(new.state) if "before-restore" not in name}
    for number in range(count):
        shutil.rmtree(new.root)
        shutil.copytree(before, new.root)
        assert cut_at(number, whole)
        if not go_on(new.target(NOW_S + 3600)):
            kept = {n: c for n, c in tree(new.state).items() if ".restore" not in n and n != "lock"}
            is_whole = (new.state / "workspace" / "IDENTITY.md").exists()
            expected = after - {"lock"} if is_whole else set(tree(before / "state"))
            assert {n for n in kept if "before-restore" not in n} == expected
            continue
        assert {n for n in tree(new.state) if "before-restore" not in n} == after
        (kept_folder,) = new.state.glob("before-restore*")
        assert (kept_folder / "workspace" / "own.md").read_text() == "of before"
        assert 'name = "Greenhouse"' in new.config.read_text()


def test_a_restore_that_was_cut_off_is_finished_first(backup: Path, new: BackedUpDevice) -> None:
    cut_at(3, lambda: restore(backup, KEYS, new.target(NOW_S)))
    assert switching.pending(new.state) is not None
    with pytest.raises(BackupRefused, match="--continue"):
        restore(backup, KEYS, new.target(NOW_S))
    assert go_on(new.target(NOW_S))
    assert not go_on(new.target(NOW_S))
