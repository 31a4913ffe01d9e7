import asyncio

import pytest
from msgspec.structs import replace

from agent.errors import ChannelUnavailable, ConfigRefused
from agent.health.base import Finding, Level, Patient, Probe
from agent.health.checks import home


async def found(patient: Patient, probe: Probe) -> Finding:
    looked_at = replace(patient, home={"wyoming": probe})
    return await home.home_checks(looked_at)["wyoming"](looked_at)


def test_nobody_has_to_have_it(patient: Patient) -> None:
    assert home.home_checks(patient) == {}


async def test_how_it_is_is_said(patient: Patient) -> None:
    async def well() -> str:
        return "listens"

    async def ill() -> str:
        raise ConfigRefused("nobody may connect")

    async def away() -> str:
        raise ChannelUnavailable("the shed is off")

    assert await found(patient, away) == Finding.warning("the shed is off")
    assert await found(patient, well) == Finding.ok("listens")
    assert await found(patient, ill) == Finding.failed("nobody may connect")


async def test_no_answer_is_a_finding(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(home, "ANSWER_TIMEOUT_S", 0.01)
    finding = await found(patient, never)
    assert finding.level is Level.WARNING
    assert "no answer within" in finding.sentence
