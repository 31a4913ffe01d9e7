"""Keys of the environment go to the service that they are of, and to no other."""

import logging
from collections.abc import AsyncIterator

import pytest

from agent.config import Secret
from agent.net.http import HttpClient
from agent.providers.create import chain, service_providers
from agent.providers.settings import ProgramSettings, ProviderSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import failed, running, streamed
from tests.fakes.llm_talk import ASKED

KEYS = {"OPENAI_API_KEY": "of-openai", "BARNACLE_API_KEY": "of-the-first"}


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.mark.parametrize("kind", ["auto", "openai"])
async def test_a_server_of_ones_own_gets_the_key_of_openai_only_where_it_is_called_so(
    http: HttpClient, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(streamed("hi")) as server:
        settings = ProviderSettings(kind=kind, base_url=server.base_url, model="m")
        (way,) = service_providers(settings, {"OPENAI_API_KEY": "of-openai"}, http)
        assert (await way.chat(ASKED)).text == "hi"
    sent = server.requests[0].headers.get("authorization")
    assert sent == (None if kind == "auto" else "bearer of-openai")
    warned = "OPENAI_API_KEY may be of another service: if it is for this one, set provider.api_key"
    assert (warned in caplog.text) is (kind == "auto")


@pytest.mark.parametrize("base_url", ["", "https://api.openai.com/v1", "https://API.openai.com"])
async def test_openai_itself_gets_it(http: HttpClient, base_url: str) -> None:
    (way,) = service_providers(ProviderSettings(base_url=base_url), KEYS, http)
    assert way._endpoint.key == Secret("of-openai")


async def test_a_server_of_ones_own_gets_the_key_that_is_for_it(http: HttpClient) -> None:
    settings = ProviderSettings(base_url="http://192.168.1.5:8080", model="m")
    (way,) = service_providers(settings, KEYS, http)
    assert way._endpoint.key == Secret("of-the-first")


async def test_a_fallback_gets_no_key_of_the_first_service(
    http: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with running(failed(400, "no")) as first, running(streamed("second")) as second:
        named = {"backup": ProviderSettings(kind="groq", base_url=second.base_url, model="m")}
        settings = ProviderSettings(
            kind="mistral", base_url=first.base_url, model="m", fallbacks=("backup",)
        )
        provider = chain(settings, named, KEYS, http, SteppedClock())
        assert (await provider.chat(ASKED)).text == "second"
    assert first.requests[0].headers["authorization"] == "bearer of-the-first"
    assert "authorization" not in second.requests[0].headers
    assert "BARNACLE_API_KEY may be of another service" in caplog.text
    assert "set providers.backup.api_key" in caplog.text
    assert "of-the-first" not in caplog.text


async def test_another_model_at_the_same_address_gets_it(http: HttpClient) -> None:
    async with running(failed(400, "no"), streamed("small")) as server:
        named = {"small": ProviderSettings(base_url=server.base_url, model="small")}
        settings = ProviderSettings(base_url=server.base_url, model="large", fallbacks=("small",))
        provider = chain(settings, named, KEYS, http, SteppedClock())
        assert (await provider.chat(ASKED)).text == "small"
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["bearer of-the-first"] * 2


async def test_a_program_gets_no_key_of_the_first_service(http: HttpClient) -> None:
    shell = ("/bin/sh", "-c", 'printf "key=%s" "$OTHER_KEY"')
    program = ProgramSettings(command=shell, key_variable="OTHER_KEY")
    async with running(failed(400, "no")) as first:
        settings = ProviderSettings(base_url=first.base_url, model="m", fallbacks=("cli",))
        named = {"cli": ProviderSettings(kind="program", program=program)}
        provider = chain(settings, named, KEYS, http, SteppedClock())
        assert (await provider.chat(ASKED)).text == "key="
