import os
from pathlib import Path

import pytest

from agent.provision import device
from agent.provision.settings import DeviceSettings, MachineSettings, SshSettings, WifiSettings

KEY = "ssh-ed25519 " + "A" * 68


def test_what_is_not_said_stays(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    first = DeviceSettings(hostname="shed", timezone="Europe/Berlin", locale="de_DE.UTF-8")
    wifi = WifiSettings(ssid="Home", country="DE")
    device.keep(folder, MachineSettings(device=first, wifi=wifi, ssh=SshSettings(keys=(KEY,))))
    before = sorted(path.name for path in folder.iterdir())
    device.keep(folder, MachineSettings(device=DeviceSettings(timezone="UTC")))
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "hostname").read_text() == "shed\n"
    assert (folder / "localtime").readlink() == Path("/usr/share/zoneinfo/UTC")
    assert device.country_kept(folder) == "DE"


def test_every_program_finds_the_time_zone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        device.keep(tmp_path / "device", MachineSettings(device=DeviceSettings(hostname="shed")))
    finally:
        os.umask(before)
    assert (tmp_path / "device").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "device/hostname").stat().st_mode & 0o777 == 0o644


def test_without_keys_nobody_logs_in(tmp_path: Path) -> None:
    device.keep(tmp_path, MachineSettings(ssh=SshSettings(keys=(KEY, KEY))))
    keys = tmp_path / "authorized_keys"
    assert keys.read_text() == f"{KEY}\n{KEY}\n"
    assert keys.stat().st_mode & 0o777 == 0o600
    device.keep(tmp_path, MachineSettings(ssh=SshSettings()))
    assert not keys.exists()


def test_a_machine_without_a_name_gets_the_usual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr("socket.sethostname", given.append)
    monkeypatch.setattr("socket.gethostname", lambda: "localhost")
    assert device.name_machine(tmp_path / "new") == "barnacle"
    assert (tmp_path / "new/hostname").read_text() == "barnacle\n"
    (tmp_path / "new/hostname").write_text("shed\n")
    assert device.name_machine(tmp_path / "new") == "shed"
    monkeypatch.setattr("socket.gethostname", lambda: "shed")
    device.name_machine(tmp_path / "new")
    assert given == ["barnacle", "shed"]


def test_no_country_is_kept_at_first(tmp_path: Path) -> None:
    assert device.country_kept(tmp_path) == ""
