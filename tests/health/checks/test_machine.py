import importlib.util
import os
import time
from pathlib import Path

import pytest
from msgspec import structs

from agent.health.base import Level, Patient
from agent.health.checks import machine
from agent.peripherals.settings import PiPinSettings


@pytest.fixture
def timesync(root: Path) -> Path:
    return root / "run/systemd/timesync"


@pytest.mark.usefixtures("timesync")
async def test_a_right_clock_is_fine(patient: Patient) -> None:
    assert (await machine.check_clock(patient)).level is Level.OK


async def test_a_clock_before_this_program_is_failed(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_EARLIEST_S", time.time() + 60)
    found = await machine.check_clock(patient)
    assert found.level is Level.FAILED
    assert "far behind" in found.sentence


async def test_a_clock_far_ahead_is_failed(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_LATEST_S", time.time() - 60)
    found = await machine.check_clock(patient)
    assert found.level is Level.FAILED
    assert "far ahead" in found.sentence


async def test_a_clock_older_than_what_is_stored_is_failed(patient: Patient) -> None:
    patient.state_dir.mkdir()
    patient.databases[0].write_text("")
    tomorrow_s = time.time() + 86_400
    os.utime(patient.databases[0], (tomorrow_s, tomorrow_s))
    assert (await machine.check_clock(patient)).level is Level.FAILED


@pytest.fixture
def timesync_runs(timesync: Path) -> Path:
    timesync.mkdir(parents=True)
    return timesync


@pytest.mark.usefixtures("timesync_runs")
async def test_a_clock_that_the_network_did_not_set_yet_is_a_warning(patient: Patient) -> None:
    found = await machine.check_clock(patient)
    assert found.level is Level.WARNING
    assert "no scheduled job runs" in found.sentence


@pytest.fixture
def timesync_is_done(timesync_runs: Path) -> None:
    (timesync_runs / "synchronized").touch()


@pytest.mark.usefixtures("timesync_is_done")
async def test_a_clock_that_the_network_set_is_fine(patient: Patient) -> None:
    assert (await machine.check_clock(patient)).level is Level.OK


FAN = {"fan": PiPinSettings(gpio=17)}


async def test_without_a_pin_there_is_nothing_to_look_at(patient: Patient) -> None:
    finding = await machine.check_pins(patient)
    assert (finding.level, "no [pins]" in finding.sentence) == (Level.OK, True)


@pytest.mark.parametrize(
    ("device", "spec", "expected"),
    [
        ("null", "found", (Level.WARNING, "gpiochip*")),
        ("gpiochip0", None, (Level.WARNING, "pip install")),
        ("gpiochip0", "found", (Level.OK, "fan (GPIO 17)")),
    ],
)
async def test_it_says_why_there_is_no_tool(
    patient: Patient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    spec: str | None,
    expected: tuple[Level, str],
) -> None:
    (tmp_path / device).touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    finding = await machine.check_pins(structs.replace(patient, pins=FAN, devices=tmp_path))
    level, said = expected
    assert (finding.level, said in finding.sentence) == (level, True)
