from collections.abc import AsyncIterator

import pytest

from agent.answering import offered, open_provider
from agent.embeddings.none import NoEmbedder
from agent.http import HttpClient
from agent.messages import ChatMessage
from agent.providers.base import ChatRequest
from agent.providers.section import MainProviderSettings
from agent.settings import Settings
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import running, streamed

HELLO = (ChatMessage.user("hello"),)


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


def test_what_can_be_chosen_is_told() -> None:
    provider = MainProviderSettings(kind="openai", routes={"fast": "groq:x"}, fallbacks=("groq",))
    told = offered(Settings(provider=provider), {"OPENAI_API_KEY": "k"})
    assert (told.service, told.model) == ("openai", "gpt-5.6-luna")
    assert (told.routes, told.fallbacks) == ({"fast": "groq:x"}, ("groq",))
    assert offered(Settings(), {}).model == ""


async def test_without_a_service_the_offline_provider_answers(http: HttpClient) -> None:
    provider = open_provider(Settings(), {}, http, NoEmbedder(), SteppedClock())
    assert provider.name == "offline"


async def test_a_hint_that_nobody_configured_never_reaches_the_service(http: HttpClient) -> None:
    async with running(streamed("hi")) as server:
        settings = Settings(provider=MainProviderSettings(base_url=server.base_url, model="large"))
        provider = open_provider(settings, {}, http, NoEmbedder(), SteppedClock())
        await provider.chat(ChatRequest(HELLO, model="hint:fast"))
    assert [request.body["model"] for request in server.requests] == ["large"]


async def test_the_offline_provider_comes_last_unless_it_is_switched_off(http: HttpClient) -> None:
    nowhere = MainProviderSettings(base_url="http://127.0.0.1:1", model="m", offline_last=False)
    for settings, name in ((nowhere, "openai"),):
        provider = open_provider(
            Settings(provider=settings), {}, http, NoEmbedder(), SteppedClock()
        )
        assert (provider.name, type(provider).__name__) == (name, "RouterProvider")
