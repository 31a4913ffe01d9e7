import contextlib
import json
import os
import pty
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import board
from agent.health.ports import SerialDevice
from agent.link.settings import BoardSettings
from tests.fakes.board_sim import BoardSim, unavailable_reason

USB = SerialDevice("/dev/ttyACM0", ("/dev/barnacle-board",), "ST Black Pill", "0483:5740")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[SerialDevice]:
    devices = [USB]
    monkeypatch.setattr(board, "serial_devices", lambda: devices)
    return devices


@pytest.mark.usefixtures("found")
def test_what_is_known_of_a_port_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    board.list_ports([BoardSettings(port="/dev/ttyACM0")], as_json=False)
    said = capsys.readouterr().out
    assert said.split() == [
        *("/dev/ttyACM0", "configured", "0483:5740"),
        *("ST", "Black", "Pill", "/dev/barnacle-board"),
    ]


@pytest.mark.usefixtures("found")
def test_a_configured_port_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    board.list_ports([BoardSettings(port="/dev/none")], as_json=True)
    first, second = json.loads(capsys.readouterr().out)
    assert (first["path"], first["configured"]) == ("/dev/none", True)
    assert first["description"] == "not present"
    assert second["configured"] is False


def test_a_link_to_a_port_is_that_port(
    found: list[SerialDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device, link = tmp_path / "ttyACM0", tmp_path / "board"
    device.touch()
    link.symlink_to(device)
    found[:] = [SerialDevice(str(device))]
    board.list_ports([BoardSettings(port=str(link))], as_json=True)
    (only,) = json.loads(capsys.readouterr().out)
    assert only["configured"] is True


def test_no_port_is_told_with_what_to_do(
    found: list[SerialDevice], capsys: pytest.CaptureFixture[str]
) -> None:
    found.clear()
    board.list_ports([BoardSettings()], as_json=False)
    assert "plug a board in" in capsys.readouterr().out


@pytest.mark.usefixtures("found")
def test_of_several_boards_each_is_named_at_its_port(capsys: pytest.CaptureFixture[str]) -> None:
    boards = [BoardSettings(port="/dev/ttyACM0"), BoardSettings(name="garden", port="/dev/none")]
    board.list_ports(boards, as_json=False)
    garden, own = capsys.readouterr().out.splitlines()
    assert garden.split()[:2] == ["/dev/none", "garden"]
    assert own.split()[:2] == ["/dev/ttyACM0", "board"]


@contextlib.contextmanager
def prompt() -> Iterator[str]:
    """A terminal with MicroPython's prompt: the greeting's byte 1 is Ctrl-A there."""
    near, far = pty.openpty()
    tty.setraw(far)

    def answer() -> None:
        with contextlib.suppress(OSError):
            while os.read(near, 100):
                os.write(near, b"raw REPL; CTRL-B to exit\r\n>")

    talking = threading.Thread(target=answer)
    talking.start()
    try:
        yield os.ttyname(far)
    finally:
        os.close(far)
        talking.join()
        os.close(near)


def test_a_bare_prompt_is_told_with_the_command_that_flashes_it(
    found: list[SerialDevice], capsys: pytest.CaptureFixture[str]
) -> None:
    with prompt() as path:
        found[:] = [SerialDevice(path, usb_id="0483:5740")]
        board.list_ports([BoardSettings()], as_json=False)
    said = capsys.readouterr().out
    assert f"a MicroPython prompt answers at {path}" in said
    assert f"`barnacle board install --port {path}`" in said


def test_a_board_is_told_by_its_name(
    found: list[SerialDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    found.clear()
    with BoardSim(tmp_path) as simulator:
        board.list_ports([BoardSettings(port=str(simulator.port))], as_json=True)
    (only,) = json.loads(capsys.readouterr().out)
    assert only["answer"].startswith("simulated, firmware ")


def test_a_stranger_is_not_written_to(
    found: list[SerialDevice], capsys: pytest.CaptureFixture[str]
) -> None:
    with prompt() as path:
        found[:] = [SerialDevice(path, usb_id="04b8:0202"), SerialDevice(path)]
        board.list_ports([BoardSettings()], as_json=True)
    assert [row["answer"] for row in json.loads(capsys.readouterr().out)] == ["", ""]
