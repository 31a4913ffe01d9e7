import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial.tools.list_ports
from serial.tools.list_ports_common import ListPortInfo

from agent.link.discovery import SerialPorts, may_be_a_board
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock


@pytest.fixture
def terminal() -> Iterator[str]:
    near, far = pty.openpty()
    yield os.ttyname(far)
    os.close(near)
    os.close(far)


def plugged_in(monkeypatch: pytest.MonkeyPatch, devices: Path, **vendors: int | None) -> None:
    """Let pyserial see these USB devices."""
    infos = []
    for name, vendor in vendors.items():
        (devices / name).touch()
        infos.append(ListPortInfo(str(devices / name)))
        infos[-1].vid = vendor
    monkeypatch.setattr(serial.tools.list_ports, "comports", lambda: infos)


async def test_the_configured_port_is_the_only_one(tmp_path: Path, terminal: str) -> None:
    (tmp_path / "barnacle-board").symlink_to(terminal)
    link = tmp_path / "mine"
    ports = SerialPorts(BoardSettings(port=str(link)), SystemClock())
    assert await ports.find() is None
    assert str(link) in ports.missing()
    link.symlink_to(terminal)
    assert await ports.find() == str(link)


async def test_without_one_udevs_name_comes_first(tmp_path: Path, terminal: str) -> None:
    name = tmp_path / "barnacle-board"
    name.symlink_to(terminal)
    assert await SerialPorts(BoardSettings(), SystemClock(), tmp_path).find() == str(name)


async def test_then_usb_boards_are_tried_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugged_in(monkeypatch, tmp_path, ttyACM0=0x0483, ttyACM1=0xF055, ttyUSB0=0x1A86, ttyACM2=None)
    ports = SerialPorts(BoardSettings(), SystemClock(), tmp_path)
    found = [await ports.find() for _ in range(4)]
    assert sorted(map(str, found[:2])) == [str(tmp_path / "ttyACM0"), str(tmp_path / "ttyACM1")]
    assert found[2:] == found[:2]


async def test_a_strangers_device_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugged_in(monkeypatch, tmp_path, ttyUSB0=0x1A86)
    ports = SerialPorts(BoardSettings(), SystemClock(), tmp_path)
    assert await ports.find() is None
    assert "board.port" in ports.missing()


async def test_without_any_usb_device_nothing_is_found(tmp_path: Path) -> None:
    assert await SerialPorts(BoardSettings(), SystemClock(), tmp_path).find() is None


def test_another_device_under_the_same_name_is_another_one(tmp_path: Path) -> None:
    ports = SerialPorts(BoardSettings(), SystemClock())
    link = tmp_path / "board"
    assert ports.identity(str(link)) is None
    pairs = [pty.openpty(), pty.openpty()]
    identities = set()
    for _, far in pairs:
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(far))
        identities.add(ports.identity(str(link)))
        assert ports.identity(str(link)) in identities
    assert len(identities) == 2
    for handle in (handle for pair in pairs for handle in pair):
        os.close(handle)


async def test_what_was_found_can_be_opened(terminal: str) -> None:
    port = await SerialPorts(BoardSettings(port=terminal), SystemClock()).open(terminal)
    assert port.path == terminal
    await port.aclose()


@pytest.mark.parametrize(
    ("usb_id", "expected"),
    [("0483:374b", True), ("f055:9800", True), ("1a86:7523", False), ("", False)],
)
def test_only_devices_of_known_vendors_may_be_written_to(usb_id: str, *, expected: bool) -> None:
    assert may_be_a_board(usb_id) is expected
