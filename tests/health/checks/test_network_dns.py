import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import ConfigRefused
from agent.health.base import Level, ModelService, Patient
from agent.health.checks.network import check_dns
from tests.fakes.kernel import a_pi


def nothing_found(host: str) -> object:
    raise socket.gaierror(-2, f"no {host}")


def asking(patient: Patient, url: str) -> Patient:
    return replace(patient, find_service=lambda: ModelService(url, ""), look_up=nothing_found)


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434", "http://[::1]/v1"])
async def test_an_address_needs_no_name(patient: Patient, url: str) -> None:
    assert (await check_dns(asking(patient, url))).level is Level.OK


async def test_without_a_service_no_name_is_asked_for(patient: Patient) -> None:
    assert (await check_dns(replace(patient, look_up=nothing_found))).level is Level.OK


async def test_a_name_that_is_found_is_fine(patient: Patient) -> None:
    asked: list[str] = []
    found = await check_dns(
        replace(asking(patient, "https://llm.invalid/v1"), look_up=asked.append)
    )
    assert found.level is Level.OK
    assert asked == ["llm.invalid"]


async def test_a_name_that_is_not_found_names_whom_was_asked(patient: Patient, root: Path) -> None:
    a_pi(root)
    found = await check_dns(asking(patient, "https://llm.invalid/v1"))
    assert found.level is Level.WARNING
    assert "no llm.invalid" in found.sentence
    assert "is 192.168.1.1 correct?" in found.sentence


async def test_platforms_have_names_too(patient: Patient) -> None:
    asked: list[str] = []
    hosts = ("chat.invalid", "127.0.0.1", "llm.invalid")
    looking = replace(asking(patient, "https://llm.invalid/v1"), hosts=hosts, look_up=asked.append)
    found = await check_dns(looking)
    assert found.sentence == "found llm.invalid, chat.invalid"
    assert sorted(asked) == ["chat.invalid", "llm.invalid"]


async def test_a_refused_key_is_for_another_check(patient: Patient) -> None:
    def refuse() -> ModelService:
        raise ConfigRefused("no key")

    assert (await check_dns(replace(patient, find_service=refuse))).level is Level.OK
