import dataclasses

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import screen
from agent.tools.screenshot import Display


async def test_without_a_screen_it_says_why(patient: Patient) -> None:
    finding = await screen.check(dataclasses.replace(patient, environ={}))
    assert (finding.level, "no screen" in finding.sentence) == (Level.OK, True)


async def test_a_screen_that_is_there_is_named(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "find_display", lambda _environ: Display(("/usr/bin/grim",)))
    assert "screenshot takes pictures" in (await screen.check(patient)).sentence
