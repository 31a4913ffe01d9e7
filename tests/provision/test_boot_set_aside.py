"""A start that leaves the data partition alone: memory is in its place, and gone after it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.provision.conftest import Machine

WHY = "3 starts ended early"
OLD, NEW = "correct horse battery", "a new router, a new word"


def _wifi(password: str) -> str:
    return f'[wifi]\nssid = "Home"\npassword = "{password}"\n'


@contextmanager
def _set_aside(machine: Machine, tmp_path: Path) -> Iterator[None]:
    """For the length of a block, nothing that is kept outlives it."""
    folders = (machine.device, machine.config.parent, machine.credstore, machine.connections)
    for folder in folders:
        folder.mkdir(exist_ok=True)
        shutil.copytree(folder, tmp_path / "real" / folder.name)
    machine.unused = WHY
    yield
    machine.unused = ""
    for folder in folders:
        shutil.rmtree(folder)
        (tmp_path / "real" / folder.name).rename(folder)


def _password(machine: Machine) -> str:
    text = (machine.connections / "barnacle-wifi.nmconnection").read_text()
    return text.partition("psk=")[2].partition("\n")[0]


def test_a_new_secret_is_not_lost_in_a_start_that_keeps_nothing(
    machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine.write(_wifi(OLD))
    machine.start()
    machine.write(_wifi(NEW))
    with _set_aside(machine, tmp_path):
        assert machine.start()
        # It is in force, so that whoever corrects a mistake is reached again
        assert _password(machine) == NEW
        assert machine.read() == _wifi(NEW)
        assert f"left on the card (reason={WHY})" in caplog.text
        assert machine.start()
    assert _password(machine) == OLD
    assert machine.start()
    assert _password(machine) == NEW
    assert NEW not in machine.read()


def test_files_of_imager_wait_for_a_start_that_keeps_them(machine: Machine, tmp_path: Path) -> None:
    machine.write("hostname: Shed\n", "user-data")
    with _set_aside(machine, tmp_path):
        machine.start()
        assert machine.read("user-data") == "hostname: Shed\n"
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "shed\n"


def test_a_mistake_on_the_card_is_told_in_such_a_start_too(
    machine: Machine, tmp_path: Path
) -> None:
    machine.write("[wifi]\nssid = 5\n")
    with _set_aside(machine, tmp_path):
        assert not machine.start()
        assert "wifi.ssid" in machine.errors()


def test_a_card_with_nothing_new_is_told_nothing(machine: Machine, tmp_path: Path) -> None:
    machine.write(_wifi(OLD))
    machine.start()
    before = machine.read()
    with _set_aside(machine, tmp_path):
        assert machine.start()
        assert machine.errors() == ""
    assert machine.read() == before
