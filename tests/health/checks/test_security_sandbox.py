import os
from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import security
from agent.security.sandbox.choice import SandboxChoice
from tests.fakes.sandbox import EchoingSandbox


async def found(patient: Patient, monkeypatch: pytest.MonkeyPatch, choice: SandboxChoice) -> str:
    monkeypatch.setattr(security, "choose", lambda _: choice)
    return (await security.check_sandbox(patient)).sentence


async def test_without_a_sandbox_it_says_what_is_missing_and_what_follows(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("agent.security.sandbox.bubblewrap.PATH", "/nowhere")
    finding = await security.check_sandbox(patient)
    assert finding.level is Level.WARNING
    assert "apt install bubblewrap" in finding.sentence
    assert "shell and git are disabled" in finding.sentence


async def test_with_one_it_says_which(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    told = await found(patient, monkeypatch, SandboxChoice(EchoingSandbox(Path())))
    assert told == "programs and documents are isolated by an echo"


@pytest.mark.parametrize(("user", "level"), [(0, Level.WARNING), (1000, Level.OK)])
async def test_as_root_it_says_what_bubblewrap_cannot_limit(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, user: int, level: Level
) -> None:
    echo = EchoingSandbox(Path())
    echo.name = "bubblewrap"
    monkeypatch.setattr(security, "choose", lambda _: SandboxChoice(echo))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert (await security.check_sandbox(patient)).level is level
