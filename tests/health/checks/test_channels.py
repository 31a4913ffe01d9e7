import os
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from agent.errors import ChannelUnavailable
from agent.health.base import Finding, Level, Patient
from agent.health.checks.channels import check_channels
from agent.health.status import AgentStatus, ChannelReport, own_start_ticks, write_status


async def found_with(patient: Patient, heard: Mapping[str, float] | Exception) -> Finding:
    async def hear() -> Mapping[str, float]:
        if isinstance(heard, Exception):
            raise heard
        return heard

    return await check_channels(replace(patient, hear=hear))


async def test_without_a_platform_nobody_is_heard(patient: Patient) -> None:
    found = await check_channels(patient)
    assert found.level is Level.OK
    assert "`barnacle channel add NAME`" in found.sentence


async def test_without_an_agent_nobody_is_heard(patient: Patient) -> None:
    found = await found_with(patient, ChannelUnavailable("nobody listens"))
    assert found.level is Level.OK
    assert "no agent is running" in found.sentence


async def test_an_agent_that_does_not_answer_is_failed(patient: Patient) -> None:
    found = await found_with(patient, TimeoutError())
    assert found.level is Level.FAILED
    assert "restart" in found.sentence


@pytest.mark.parametrize(("age_s", "level"), [(12.0, Level.OK), (91.0, Level.FAILED)])
async def test_the_age_of_what_was_heard_decides(
    patient: Patient, age_s: float, level: Level
) -> None:
    found = await found_with(patient, {"telegram": age_s, "signal": 1.0})
    assert found.level is level
    assert f"telegram {'for ' if level is Level.FAILED else ''}{age_s:.0f} s" in found.sentence


async def test_a_platform_that_only_posts_to_the_gateway_is_named(patient: Patient) -> None:
    async def probe() -> str:
        return "listens"

    found = await found_with(replace(patient, platforms={"webhook": probe}), {})
    assert found.level is Level.OK
    assert "webhook posts to its gateway" in found.sentence


async def test_what_the_agent_says_of_a_channel_is_told(patient: Patient) -> None:
    patient.state_dir.mkdir()
    channels = (ChannelReport("telegram", "nobody answered"), ChannelReport("signal"))
    status = AgentStatus(os.getpid(), own_start_ticks(), 0.0, channels=channels)
    write_status(patient.status_file, status)
    found = await found_with(patient, {"telegram": 30.0})
    assert found == Finding.warning("telegram: nobody answered")
