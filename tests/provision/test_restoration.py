from pathlib import Path

import pytest

from agent.errors import BackupRefused
from agent.provision.credentials import Credstore
from agent.provision.restoration import MachineRestore, outside_folders
from agent.provision.settings_plan import ProvisionPaths


@pytest.fixture
def restored(tmp_path: Path) -> MachineRestore:
    folders = [tmp_path / name for name in ("connections", "device")]
    for folder in folders:
        folder.mkdir()
    places = ProvisionPaths(tmp_path / "etc/barnacle.toml", Credstore(tmp_path / "cred"), *folders)
    return MachineRestore(places, is_services=True)


def test_a_file_is_replaced_and_the_one_before_kept(
    restored: MachineRestore, tmp_path: Path
) -> None:
    path, kept = restored.places.config, tmp_path / "kept"
    restored.system().put_file(path, b"new", kept)
    restored.system().put_file(path, b"newer", kept)
    # As after a cut: what is kept is what was there first
    restored.system().put_file(path, b"newest", kept)
    assert path.read_bytes() == b"newest"
    assert (kept / "config/barnacle.toml").read_bytes() == b"new"


def test_credentials_go_into_the_store_and_the_ones_before_are_kept(
    restored: MachineRestore, tmp_path: Path
) -> None:
    store, kept = restored.places.credstore, tmp_path / "kept"
    assert store is not None
    store.put("api_key", "old")
    restored.system().put_credentials({"api_key": b"new", "telegram_token": b"t"}, kept)
    assert (store.read("api_key"), store.read("telegram_token")) == ("new", "t")
    assert (kept / "credentials/barnacle.api_key").read_text() == "old\n"


def test_the_machine_gets_its_name_zone_and_network(
    restored: MachineRestore, tmp_path: Path
) -> None:
    values = {
        "device/hostname": b"greenhouse\n",
        "device/localtime": b"/usr/share/zoneinfo/Europe/Berlin",
        "device/else": b"x",
        "connections/barnacle-wifi.nmconnection": b"[wifi]",
        "connections/../evil": b"x",
    }
    restored.system().put_machine(values, tmp_path / "kept")
    assert (tmp_path / "device/hostname").read_bytes() == b"greenhouse\n"
    assert (tmp_path / "device/localtime").readlink() == Path("/usr/share/zoneinfo/Europe/Berlin")
    assert (tmp_path / "connections/barnacle-wifi.nmconnection").stat().st_mode & 0o77 == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        *("barnacle-wifi.nmconnection", "connections", "device", "hostname", "localtime"),
    ]


def test_a_time_zone_that_leads_elsewhere_is_not_linked(
    restored: MachineRestore, tmp_path: Path
) -> None:
    for target in (b"/etc/shadow", b"/usr/share/zoneinfo/../../../etc/shadow"):
        restored.system().put_machine({"device/localtime": target}, tmp_path / "kept")
    assert not (tmp_path / "device/localtime").is_symlink()


def test_an_agent_of_a_person_has_no_store(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    machine = MachineRestore(places, is_services=True)
    machine.system().put_credentials({"api_key": b"k"}, tmp_path)
    assert not list(tmp_path.iterdir())


def test_folders_are_found_by_the_configuration_of_the_backup(tmp_path: Path) -> None:
    config, state = tmp_path / "c.toml", tmp_path / "state"
    config.write_text(f'[agent]\nworkspace = "{tmp_path / "files"}"\n')
    assert outside_folders(config, state).workspace == tmp_path / "files"
    config.write_text(f'[agent]\nworkspace = "{state / "files"}"\n')
    assert outside_folders(config, state).workspace is None
    assert outside_folders(None, state).workspace is None
    config.write_text("[nonsense]\n")
    with pytest.raises(BackupRefused, match="the configuration in the backup is refused"):
        outside_folders(config, state)
