import os
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import sandbox
from agent.security.sandbox_choice import Choice
from tests.fakes.sandbox import EchoingSandbox


async def found(patient: Patient, monkeypatch: pytest.MonkeyPatch, choice: Choice) -> str:
    monkeypatch.setattr(sandbox, "choose", lambda _: choice)
    return (await sandbox.check(patient)).sentence


async def test_without_a_sandbox_it_says_what_is_missing_and_what_follows(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("agent.security.sandbox_bubblewrap.PATH", "/nowhere")
    finding = await sandbox.check(patient)
    assert finding.level is Level.WARNING
    assert "apt install bubblewrap" in finding.sentence
    assert "shell and git do not exist" in finding.sentence


async def test_with_one_it_says_which(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    told = await found(patient, monkeypatch, Choice(EchoingSandbox(Path())))
    assert told == "programs and documents are kept apart by an echo"


@pytest.mark.parametrize(("user", "level"), [(0, Level.WARNING), (1000, Level.OK)])
async def test_as_root_it_says_what_bubblewrap_cannot_limit(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, user: int, level: Level
) -> None:
    echo = EchoingSandbox(Path())
    echo.name = "bubblewrap"
    monkeypatch.setattr(sandbox, "choose", lambda _: Choice(echo))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert (await sandbox.check(patient)).level is level
