import os
from pathlib import Path

import pytest
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from agent.health import ports


def port(path: str, product: str = "") -> ListPortInfo:
    info = ListPortInfo(path)
    info.vid, info.pid, info.product = 0xF055, 0x9800, product
    return info


def test_ports_are_sorted_and_told_by_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [port("/dev/ttyACM1", "Pyboard"), port("/dev/ttyACM0", "evil\x1b[2J\nname")]
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    first, second = ports.serial_devices()
    assert (first.path, first.description) == ("/dev/ttyACM0", "evil[2J name")
    assert (second.description, second.usb_id) == ("Pyboard", "f055:9800")


def test_a_port_is_known_by_the_links_that_lead_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, by_id = tmp_path / "ttyACM0", tmp_path / "serial" / "by-id"
    device.touch()
    by_id.mkdir(parents=True)
    (tmp_path / "barnacle-board").symlink_to(device)
    (by_id / "usb-board").symlink_to(device)
    (by_id / "usb-gone").symlink_to(tmp_path / "none")
    (by_id / "usb-other").symlink_to(os.devnull)
    monkeypatch.setattr(ports, "_DEVICES", tmp_path)
    monkeypatch.setattr(list_ports, "comports", lambda: [port(str(device))])
    assert ports.serial_devices()[0].names == (
        str(tmp_path / "barnacle-board"),
        str(by_id / "usb-board"),
    )
