import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.provision.firmware import Firmware


def test_a_text_has_the_line_ends_of_every_pc(tmp_path: Path) -> None:
    Firmware(tmp_path, is_mounted=False).write("note.txt", "one\ntwo\n")
    assert (tmp_path / "note.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path, is_mounted=False)
    firmware.write("note.txt", "one\n")
    before = (tmp_path / "note.txt").stat().st_ino
    firmware.write("note.txt", "one\n")
    assert (tmp_path / "note.txt").stat().st_ino == before
    firmware.remove("note.txt")
    firmware.remove("note.txt")
    assert list(tmp_path.iterdir()) == []


MOUNT = (
    "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
    "41 26 254:1 / {folder} ro,nosuid shared:9 - vfat /dev/vda1 {state},fmask=0077,errors=ro\n"
)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is run, and does nothing."""
    run: list[str] = []

    def runs(words: Sequence[str], _timeout_s: float) -> subprocess.CompletedProcess[bytes]:
        run.append(" ".join(words))
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr("agent.provision.firmware.run_program", runs)
    return run


@pytest.mark.parametrize(("state", "after"), [("ro", ["rw", "ro"]), ("rw", ["rw"])])
def test_it_is_left_as_it_was_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands: list[str],
    state: str,
    after: list[str],
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNT.format(folder=tmp_path, state=state))
    monkeypatch.setattr("agent.provision.firmware._MOUNTS", mounts)
    Firmware(tmp_path).write("note.txt", "one\n")
    assert commands == [f"mount -o remount,{how} {tmp_path}" for how in after]
    assert (tmp_path / "note.txt").exists()


def test_what_cannot_be_made_writable_is_told(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path / "no-mount")
    with pytest.raises(StorageFull, match="cannot remount"), firmware.writable():
        raise AssertionError("it is not writable")
