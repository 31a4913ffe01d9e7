import pytest
from msgspec import structs

from agent.health.base import Level, Patient
from agent.health.checks import machine
from agent.tools.screenshot import Display


async def test_without_a_screen_it_says_why(patient: Patient) -> None:
    finding = await machine.check_screen(structs.replace(patient, environ={}))
    assert (finding.level, "no screen" in finding.sentence) == (Level.OK, True)


async def test_a_screen_that_is_there_is_named(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "find_display", lambda _environ: Display(("/usr/bin/grim",)))
    assert "available" in (await machine.check_screen(patient)).sentence
