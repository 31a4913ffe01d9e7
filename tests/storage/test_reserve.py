import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.storage import reserve
from agent.storage.reserve import LONGEST_LOOK_S, LOOK_S, NAME, TELL_EVERY_S, Reserve
from tests.fakes.chat_process import chat_environ
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

MIB = 1024 * 1024


@pytest.fixture
def card(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    place = tmp_path / "card"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    try:
        made = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no program to mount with")
    if made.returncode != 0:
        pytest.skip("only root can mount a file system of its own")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def kept_on(folder: Path, clock: SteppedClock | None = None) -> Reserve:
    """A quarter of the card, made while half of it is free besides."""
    return Reserve(folder, clock or SteppedClock(), 4 * MIB, 8 * MIB, MIB)


def fill(folder: Path, leave_bytes: int) -> Path:
    """A file that leaves so much room."""
    found = os.statvfs(folder)
    other = folder / "other"
    other.write_bytes(bytes(found.f_bavail * found.f_frsize - leave_bytes))
    return other


def test_room_is_really_taken_and_only_ours(card: Path) -> None:
    kept_on(card).look()
    found = (card / NAME).stat()
    assert found.st_blocks * 512 >= 4 * MIB
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_a_full_card_gets_it_back_and_can_be_written_again(
    card: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keeping = kept_on(card)
    keeping.look()
    fill(card, 0)
    with pytest.raises(OSError, match="No space"):
        (card / "audit").write_bytes(bytes(8192))
    keeping.look()
    assert not (card / NAME).exists()
    (card / "audit").write_bytes(bytes(8192))
    assert "reserve_mb=4" in caplog.text


def test_it_comes_back_with_the_room_and_is_told_of_once_an_hour(
    card: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SteppedClock()
    keeping = kept_on(card, clock)
    for expected in (1, 1, 2):
        keeping.look()
        assert (card / NAME).exists()
        other = fill(card, 0)
        keeping.look()
        other.unlink()
        assert caplog.text.count("reserve released") == expected
        clock.advance(TELL_EVERY_S / 2)


def test_a_card_that_is_nearly_full_is_left_alone(card: Path) -> None:
    fill(card, 11 * MIB)
    kept_on(card).look()
    assert not (card / NAME).exists()


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    Reserve(tmp_path / "gone", SteppedClock()).look()


def test_half_of_it_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reserve.os, "posix_fallocate", full)
    Reserve(tmp_path, SteppedClock(), 4096, 4096, 1).look()
    assert list(tmp_path.iterdir()) == []


async def test_it_is_looked_after_again_and_again(tmp_path: Path) -> None:
    clock = SteppedClock()
    keeping = Reserve(tmp_path, clock, 4096, 4096, 1)
    running = asyncio.create_task(keeping.run())
    for _ in range(2):

        def is_there() -> bool:
            clock.advance(LONGEST_LOOK_S)
            return (tmp_path / NAME).exists()

        await wait_until(is_there)
        (tmp_path / NAME).unlink()
    running.cancel()


@pytest.mark.parametrize(
    ("free_mib", "pause_s"), [(5, LOOK_S), (1000, 9.96), (100_000, LONGEST_LOOK_S)]
)
async def test_the_more_room_there_is_the_later_it_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, pause_s: float
) -> None:
    monkeypatch.setattr(reserve, "_free_bytes", lambda _: free_mib * 1024 * 1024)
    clock = SteppedClock()
    running = asyncio.create_task(Reserve(tmp_path, clock).run())
    await wait_until(lambda: clock.slept_s)
    running.cancel()
    await asyncio.wait([running])
    assert clock.slept_s[0] == pytest.approx(pause_s)


def test_a_start_on_a_full_card_gets_it_back_first(card: Path, tmp_path: Path) -> None:
    environ = chat_environ(tmp_path, "") | {"BARNACLE_STATE_DIR": str(card / "state")}
    command = [sys.executable, "-m", "agent.cli.main", "chat", "--plain"]

    def chat(text: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, input=f"{text}\n", env=environ, capture_output=True, text=True, check=False
        )

    assert chat("remember that my cat is called Mia").returncode == 0
    (card / "state" / NAME).write_bytes(bytes(4 * MIB))
    # A start that ended before it could say who it was
    (card / "state/lock").write_bytes(b"")
    fill(card, 0)
    said = chat("what is my cat called?")
    assert (said.returncode, "Mia" in said.stdout) == (0, True), said.stderr
    assert not (card / "state" / NAME).exists()


def test_a_start_with_room_leaves_it_and_makes_none(card: Path) -> None:
    keeping = kept_on(card)
    keeping.give_up_if_full()
    assert not (card / NAME).exists()
    keeping.look()
    keeping.give_up_if_full()
    assert (card / NAME).exists()
