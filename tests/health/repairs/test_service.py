from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import ChannelUnavailable
from agent.health.base import Patient
from agent.health.repairs import service
from agent.health.repairs.base import RepairResult


class Machine:
    """A machine with systemd, whose agent hears what a test says."""

    def __init__(self, patient: Patient, root: Path, folder: Path) -> None:
        (root / "run/systemd/system").mkdir(parents=True)
        self.asked = folder / "asked"
        self.program = folder / "systemctl"
        self.patient = patient

    async def repaired(
        self, heard: Mapping[str, float] | Exception, script: str
    ) -> list[RepairResult]:
        async def hear() -> Mapping[str, float]:
            if isinstance(heard, Exception):
                raise heard
            return heard

        self.program.write_text(f'#!/bin/sh\necho "$@" >> {self.asked}\n{script}\n')
        self.program.chmod(0o700)
        return await service.restart_service(replace(self.patient, hear=hear, manager=self.program))

    @property
    def words(self) -> list[str]:
        return self.asked.read_text().splitlines() if self.asked.exists() else []


@pytest.fixture
def machine(
    patient: Patient, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Machine:
    monkeypatch.setattr(service.os, "geteuid", lambda: 0)
    return Machine(patient, root, tmp_path)


async def test_who_hears_is_left_alone(machine: Machine) -> None:
    assert await machine.repaired({"telegram": 3.0}, "exit 0") == []
    assert await machine.repaired(ChannelUnavailable("nobody listens"), "exit 0") == []
    assert machine.words == []


@pytest.mark.parametrize(
    ("heard", "why"),
    [({"telegram": 400.0}, "hears nothing from telegram"), (TimeoutError(), "does not answer")],
)
async def test_a_deaf_service_is_restarted(
    machine: Machine, heard: Mapping[str, float] | Exception, why: str
) -> None:
    deeds = await machine.repaired(heard, "exit 0")
    assert deeds == [RepairResult(f"restarted barnacle.service, whose agent {why}")]
    assert machine.words == ["is-active --quiet barnacle.service", "restart barnacle.service"]


async def test_an_agent_that_is_no_service_is_its_owners(machine: Machine) -> None:
    (deed,) = await machine.repaired(TimeoutError(), "exit 3")
    assert not deed.is_done
    assert "stop it and start it again" in deed.sentence
    assert machine.words == ["is-active --quiet barnacle.service"]


async def test_a_service_that_does_not_start_is_said_to(machine: Machine) -> None:
    (deed,) = await machine.repaired(TimeoutError(), 'test "$1" = is-active')
    assert not deed.is_done
    assert "journalctl" in deed.sentence


async def test_who_is_not_root_is_told_the_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.os, "geteuid", lambda: 1000)
    (deed,) = await machine.repaired(TimeoutError(), "exit 0")
    assert not deed.is_done
    assert "sudo barnacle doctor --fix" in deed.sentence
    assert machine.words == ["is-active --quiet barnacle.service"]


async def test_a_manager_that_hangs_is_given_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RESTART_TIMEOUT_S", 0.1)
    (deed,) = await machine.repaired(TimeoutError(), "exec sleep 30")
    assert not deed.is_done


async def test_without_systemd_nothing_is_asked(patient: Patient, tmp_path: Path) -> None:
    async def hear() -> Mapping[str, float]:
        raise TimeoutError

    asked = replace(patient, hear=hear, manager=tmp_path / "none")
    assert await service.restart_service(asked) == []
