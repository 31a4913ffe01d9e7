import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.health.base import Level, Patient
from agent.health.checks.provider import check
from agent.providers.settings import ProviderSettings


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def refusing() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def at(port: int) -> ProviderSettings:
    return ProviderSettings(base_url=f"http://127.0.0.1:{port}/v1")


async def test_no_key_means_offline_and_is_fine(patient: Patient) -> None:
    found = await check(patient)
    assert found.level is Level.OK
    assert "OPENAI_API_KEY" in found.sentence


async def test_a_service_that_accepts_is_fine(patient: Patient, listening: int) -> None:
    found = await check(replace(patient, provider=at(listening)))
    assert found.level is Level.OK
    assert f"127.0.0.1:{listening}" in found.sentence


async def test_the_source_of_the_key_is_named_and_never_the_key(
    patient: Patient, listening: int
) -> None:
    environ = {"BARNACLE_API_KEY": "sk-secret"}
    found = await check(replace(patient, provider=at(listening), environ=environ))
    assert "BARNACLE_API_KEY" in found.sentence
    assert "sk-secret" not in found.sentence


async def test_a_service_that_cannot_be_reached_is_a_warning(
    patient: Patient, refusing: int
) -> None:
    found = await check(replace(patient, provider=at(refusing)))
    assert found.level is Level.WARNING
    assert "Connection refused" in found.sentence


async def test_a_proxy_is_not_used_to_try(patient: Patient) -> None:
    settings = ProviderSettings(api_key=Secret("sk-1"), base_url="https://llm.invalid/v1")
    environ = {"https_proxy": "http://127.0.0.1:9"}
    found = await check(replace(patient, provider=settings, environ=environ))
    assert found.level is Level.OK
    assert "proxy" in found.sentence


async def test_a_service_without_its_key_is_refused(patient: Patient) -> None:
    with pytest.raises(ConfigRefused, match="OPENAI_API_KEY"):
        await check(replace(patient, provider=ProviderSettings(kind="openai")))
