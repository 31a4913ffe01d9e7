import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.provision.firmware import RESERVE, RESERVE_BYTES, Firmware, reserve_content


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


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A partition of 128 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a file system of its own")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(folder: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (folder / "photos").write_bytes(bytes(1024 * 1024))


def test_a_note_is_written_on_a_full_partition_too(small: Path) -> None:
    firmware = Firmware(small, is_mounted=False)
    firmware.keep_room()
    assert (small / RESERVE).read_bytes() == reserve_content()
    fill(small)
    firmware.write("note.txt", "what is wrong\n" * 100)
    firmware.write("other.txt", "and the code\n")
    assert (small / "note.txt").read_text() == "what is wrong\n" * 100
    assert not (small / RESERVE).exists()
    # The next mistake finds room again
    firmware.remove("note.txt")
    firmware.remove("other.txt")
    firmware.keep_room()
    assert (small / RESERVE).exists()


def test_without_room_nothing_is_left_half_written(small: Path) -> None:
    firmware = Firmware(small, is_mounted=False)
    fill(small)
    firmware.keep_room()
    with pytest.raises(OSError, match="No space left"):
        firmware.write("note.txt", "what is wrong\n" * 100)
    assert [path.name for path in small.iterdir()] == ["photos"]


def test_room_is_made_once(tmp_path: Path, commands: list[str]) -> None:
    (tmp_path / RESERVE).write_bytes(reserve_content())
    Firmware(tmp_path).keep_room()
    assert commands == []
    assert len(reserve_content()) == RESERVE_BYTES
    assert reserve_content().rstrip().isascii()
