"""boot.py and main.py in the real interpreter: who gets the board after a reset."""

import os
import pty
import socket
import subprocess
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.link import frame as codec
from firmware.host import interpreter
from firmware.host.bundle import BundledFile, bundle, lay_out
from firmware.host.prompt import CALL, KNOCK
from firmware.host.simulation import START
from tests.fakes.board_sim import unavailable_reason

WINDOW_MS = 3000
# A closed window is noticed in milliseconds; a busy machine may need longer
AT_ONCE_S = 1.5


@dataclass
class Booting:
    """A board between its reset and its firmware."""

    process: subprocess.Popen[bytes]
    terminal: int
    control: socket.socket

    def runs_firmware(self, limit_s: float) -> bool:
        self.control.settimeout(limit_s)
        try:
            return b"ready" in self.control.recv(100)
        except TimeoutError:
            return False

    def stays_at_prompt(self) -> bool:
        # The harness has no prompt: it ends where a board would show one
        return self.process.wait(AT_ONCE_S) == 0


@contextmanager
def booting(folder: Path, files: list[BundledFile]) -> Iterator[Booting]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    lay_out(files, folder)
    (folder / "world.json").write_text("{}")
    (folder / "part.json").write_text("null")
    near, far = pty.openpty()
    tty.setraw(far)
    os.set_blocking(near, False)
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    arguments = [str(near), os.devnull, "1", str(folder), "", os.ttyname(far)]
    arguments += [str(folder / "flash.bin"), "0"]
    process = subprocess.Popen(
        [*interpreter.find(), str(START), *arguments],
        stdin=theirs.fileno(),
        pass_fds=(near,),
        env={**os.environ, "MICROPYPATH": f"{folder}:{START.parent}:{START.parent}/raw"},
    )
    with ours, theirs:
        try:
            yield Booting(process, far, ours)
        finally:
            process.kill()
            process.wait()
            os.close(near)
            os.close(far)


def with_window() -> list[BundledFile]:
    return [
        BundledFile(file.target, file.content.replace(b"WINDOW_MS = 0", b"WINDOW_MS = 3000"))
        for file in bundle("simulated")
    ]


def test_the_flash_command_knows_the_words() -> None:
    assert KNOCK in bundle("simulated")[0].content.replace(b"\\r", b"\r")
    assert KNOCK in CALL
    assert b"\0" not in CALL


def test_the_words_keep_the_board_at_its_prompt(tmp_path: Path) -> None:
    with booting(tmp_path, with_window()) as board:
        os.write(board.terminal, CALL[5:] + CALL)
        assert board.stays_at_prompt()


def test_the_words_may_come_in_pieces(tmp_path: Path) -> None:
    with booting(tmp_path, with_window()) as board:
        for start in range(0, len(CALL), 7):
            os.write(board.terminal, CALL[start : start + 7])
            time.sleep(0.02)
        assert board.stays_at_prompt()


def test_a_frame_closes_the_window(tmp_path: Path) -> None:
    with booting(tmp_path, with_window()) as board:
        os.write(board.terminal, codec.encode(codec.Frame(codec.ACK, ack=3), 3))
        assert board.runs_firmware(AT_ONCE_S)


def test_an_interrupt_alone_does_not_stop_the_board(tmp_path: Path) -> None:
    with booting(tmp_path, with_window()) as board:
        os.write(board.terminal, b"\x03\x03\r\x03")
        assert not board.runs_firmware(0.3)
        os.write(board.terminal, b"\0")
        assert board.runs_firmware(AT_ONCE_S)


def test_without_a_word_the_firmware_starts_when_the_window_closes(tmp_path: Path) -> None:
    with booting(tmp_path, bundle("simulated")) as board:
        assert board.runs_firmware(AT_ONCE_S)


def test_a_board_with_half_a_firmware_stays_at_its_prompt(tmp_path: Path) -> None:
    # Just enough for the simulator itself
    half = BundledFile("board.py", b"PINS = ()\nSUPPLY_MV = 3300\n")
    with booting(tmp_path, [*bundle("simulated"), half]) as board:
        assert board.stays_at_prompt()
