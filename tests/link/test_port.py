import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from agent.errors import LinkLost
from agent.link import port as module
from agent.link.port import MAX_UNWRITTEN_BYTES, SerialPort, open_port
from tests.waits import wait_until

# Asks whether TIOCEXCL is in force; the termios module does not know it
TIOCGEXCL = 0x80045440
# A pty answers in microseconds; this is for a machine that is busy with something else
PATIENCE_S = 20.0


class Terminal:
    """A pseudo-terminal: its near end plays the board, the port opens `path`."""

    def __init__(self) -> None:
        self.near, self._far = pty.openpty()
        tty.setraw(self._far)
        os.set_blocking(self.near, False)
        self.path = os.ttyname(self._far)

    def hang_up(self) -> None:
        os.close(self.near)
        self.near = -1

    def close(self) -> None:
        if self.near >= 0:
            os.close(self.near)
        os.close(self._far)


class Listener:
    """Keeps what a port reports."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.reasons: list[str] = []

    def start(self, port: SerialPort) -> None:
        port.start(self.heard.extend, self.reasons.append)


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


async def test_bytes_go_both_ways(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    port.write(b"\x00to the board\x03\x04\xff")
    os.write(terminal.near, b"\x00to the agent\x11\x13\r\n")
    await wait_until(lambda: len(listener.heard) == 17)
    assert bytes(listener.heard) == b"\x00to the agent\x11\x13\r\n"
    assert os.read(terminal.near, 100) == b"\x00to the board\x03\x04\xff"
    await port.aclose()


async def test_a_hang_up_is_told_at_once_and_once(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    terminal.hang_up()
    await wait_until(lambda: listener.reasons)
    port.write(b"too late")
    await asyncio.sleep(0)
    assert listener.reasons == [f"{terminal.path} was unplugged"]
    await port.aclose()


async def test_a_hang_up_is_noticed_by_writing_too(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    terminal.hang_up()
    port.write(b"nobody is there")
    assert listener.reasons == []
    await wait_until(lambda: listener.reasons)
    assert len(listener.reasons) == 1
    await port.aclose()


async def test_after_closing_nothing_is_reported(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    os.write(terminal.near, b"unread")
    await port.aclose()
    terminal.hang_up()
    await asyncio.sleep(0)
    assert (listener.heard, listener.reasons) == (b"", [])


async def test_a_port_that_was_never_started_closes(terminal: Terminal) -> None:
    port = await open_port(terminal.path, 115_200)
    port.write(b"to nobody")
    await port.aclose()
    with pytest.raises(BlockingIOError):
        os.read(terminal.near, 10)


async def test_a_device_that_takes_nothing_costs_a_bounded_buffer(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    piece = b"x" * 256
    for _ in range(2000):
        port.write(piece)
    assert len(port._unwritten) <= MAX_UNWRITTEN_BYTES
    taken = bytearray()

    def whole_pieces_have_come() -> bool:
        with contextlib.suppress(BlockingIOError):
            taken.extend(os.read(terminal.near, 65536))
        return not port._unwritten and len(taken) % len(piece) == 0

    await wait_until(whole_pieces_have_come)
    assert listener.reasons == []
    await port.aclose()


async def test_a_second_program_is_told_that_the_port_is_taken(terminal: Terminal) -> None:
    port = await open_port(terminal.path, 115_200)
    with pytest.raises(LinkLost, match="another program uses"):
        await open_port(terminal.path, 115_200)
    await port.aclose()
    again = await open_port(terminal.path, 115_200)
    await again.aclose()


@pytest.mark.parametrize(("pseudo", "is_exclusive"), [("/dev/pts/", 0), ("/dev/nowhere/", 1)])
async def test_only_a_real_port_is_closed_to_programs_that_ignore_locks(
    terminal: Terminal, pseudo: str, is_exclusive: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a terminal whose other end stays open it would last longer than the agent
    monkeypatch.setattr(module, "_PSEUDO_TERMINALS", pseudo)
    port = await open_port(terminal.path, 115_200)
    state = fcntl.ioctl(port._handle, TIOCGEXCL, bytes(4))
    assert int.from_bytes(state, sys.byteorder) == is_exclusive
    await port.aclose()


async def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LinkLost, match="is the board plugged in"):
        await open_port(str(tmp_path / "ttyACM0"), 115_200)


async def test_a_file_is_no_serial_port(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LinkLost, match="is not a serial port"):
        await open_port(str(tmp_path / "file"), 115_200)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "no permission to open /dev/x.*dialout"),
        (errno.EBUSY, "another program uses /dev/x: stop it first"),
        (errno.ENODEV, "plugged in"),
        (errno.EMFILE, "cannot open /dev/x: Too many open files"),
    ],
)
async def test_every_refusal_of_the_system_says_what_to_do(
    number: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str, _baud: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "_open_device", refuse)
    with pytest.raises(LinkLost, match=words):
        await open_port("/dev/x", 115_200)


async def test_a_driver_that_never_opens_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(module, "OPEN_TIMEOUT_S", 0.01)
    monkeypatch.setattr(module, "_open_device", lambda _path, _baud: release.wait(PATIENCE_S))
    with pytest.raises(LinkLost, match="cannot open"):
        await open_port("/dev/x", 115_200)
    release.set()


async def test_a_driver_that_never_closes_is_left(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    port = await open_port(terminal.path, 115_200)
    close = port._device.close

    def close_late() -> None:
        release.wait(PATIENCE_S)
        close()

    monkeypatch.setattr(module, "CLOSE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(port._device, "close", close_late)
    await port.aclose()
    release.set()


async def test_a_device_that_cannot_be_set_up_is_closed_again(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_handle: int, _blocking: bool) -> None:  # noqa: FBT001 - as in os
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = _open_handles()
    monkeypatch.setattr(os, "set_blocking", refuse)
    with pytest.raises(LinkLost, match="Input/output error"):
        await open_port(terminal.path, 115_200)
    assert _open_handles() == before


def _open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class BrokenDevice:
    """A handle of its own choosing instead of a serial device."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def fileno(self) -> int:
        return self._handle

    def close(self) -> None:
        os.close(self._handle)


async def test_an_unusual_failure_is_told_in_the_systems_words() -> None:
    reading, writing = os.pipe()
    port, listener = SerialPort("/dev/x", BrokenDevice(reading)), Listener()
    listener.start(port)
    # The reading end of a pipe cannot be written to
    port.write(b"x")
    await wait_until(lambda: listener.reasons)
    assert listener.reasons == ["/dev/x failed: Bad file descriptor"]
    os.close(writing)
    await port.aclose()


async def test_a_failure_while_reading_is_told_too() -> None:
    reading, writing = os.pipe()
    port, listener = SerialPort("/dev/x", BrokenDevice(writing)), Listener()
    listener.start(port)
    # The writing end of a pipe wakes its reader when the other end goes, and cannot be read
    os.close(reading)
    await wait_until(lambda: listener.reasons)
    assert listener.reasons == ["/dev/x failed: Bad file descriptor"]
    await port.aclose()


async def test_closing_right_after_a_failed_write_reports_nothing(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    terminal.hang_up()
    port.write(b"nobody is there")
    await port.aclose()
    await asyncio.sleep(0)
    assert listener.reasons == []


async def test_a_wake_up_without_bytes_is_not_a_hang_up(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200), Listener()
    listener.start(port)
    port._read()
    assert listener.reasons == []
    await port.aclose()


def test_pyserial_is_not_loaded_before_a_port_is_opened() -> None:
    script = "import sys, agent.link.board; print('serial' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def _on_uvloop(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test)


def test_the_same_on_uvloop() -> None:
    async def both_ways_then_hang_up() -> None:
        terminal = Terminal()
        port, listener = await open_port(terminal.path, 115_200), Listener()
        listener.start(port)
        port.write(b"out")
        os.write(terminal.near, b"in")
        await wait_until(lambda: listener.heard)
        assert os.read(terminal.near, 10) == b"out"
        terminal.hang_up()
        await wait_until(lambda: listener.reasons)
        await port.aclose()
        terminal.close()

    _on_uvloop(both_ways_then_hang_up())


async def test_another_rate_is_set_for_both_directions_and_nothing_else(terminal: Terminal) -> None:
    port, listener = await open_port(terminal.path, 115_200, 921_600), Listener()
    assert (port.rates.start, port.rates.top) == (115_200, 921_600)
    listener.start(port)
    before = termios.tcgetattr(terminal.near)
    port.set_baud(460_800)
    after = termios.tcgetattr(terminal.near)
    assert before[4:6] == [termios.B115200] * 2
    assert after[4:6] == [termios.B460800] * 2
    # But for the bits in which the control flags repeat the rate
    assert (before[:2], before[3], before[6]) == (after[:2], after[3], after[6])
    os.write(terminal.near, b"still there")
    await wait_until(lambda: listener.heard)
    await port.aclose()


async def test_a_device_without_rates_stays_as_it_is() -> None:
    reading, writing = os.pipe()
    port = SerialPort("/dev/x", BrokenDevice(reading))
    port.set_baud(460_800)
    os.close(writing)
    await port.aclose()
