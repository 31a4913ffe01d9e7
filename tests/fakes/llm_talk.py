"""A conversation with the fake service, as short as a test wants to write it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from agent.config import Secret
from agent.errors import ProviderError
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse, Provider
from agent.providers.completions.dialect import CompletionsDialect
from agent.providers.create import service_provider
from agent.providers.reader import RequestTimeouts
from agent.providers.service import ServiceProvider
from agent.providers.settings import ProviderSettings
from tests.canaries import secret
from tests.fakes.llm_server import Call, LlmServer, Reply, Respond, running
from tests.fakes.llm_transport import OneReplyTransport
from tests.fakes.said import user_said
from tests.waits import PATIENCE_S

KEY = secret("provider")
ASKED = ChatRequest((user_said("turn the led on"),))
WRITE = Call("board_gpio_write", '{"pin":"led","value":"on"}')
TEXT = "Gern! 好的,打开灯 💡 — fertig."


def provider_at(
    server: LlmServer, patience: RequestTimeouts | None = None
) -> ServiceProvider[CompletionsDialect]:
    chosen = ProviderSettings(base_url=server.base_url, model="fake-model", api_key=Secret(KEY))
    return service_provider(chosen, {}, HttpClient(), patience)


@asynccontextmanager
async def asking(
    *script: Reply | Respond, patience: RequestTimeouts | None = None
) -> AsyncIterator[tuple[LlmServer, ServiceProvider[CompletionsDialect]]]:
    async with running(*script) as server:
        provider = provider_at(server, patience)
        yield server, provider
        await provider._http.aclose()


def provider_of(reply: Reply) -> ServiceProvider[CompletionsDialect]:
    """A provider whose service gives one reply, without a socket."""
    http = HttpClient(OneReplyTransport(reply))
    return service_provider(ProviderSettings(base_url="http://service.invalid"), {}, http)


async def heard(
    provider: Provider, request: ChatRequest = ASKED
) -> tuple[str, ChatResponse | ProviderError]:
    """The text that was shown, and how it ended."""
    shown = ""
    try:
        async with aclosing(provider.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return shown, item
                shown += item.text
    except ProviderError as err:
        return shown, err
    raise AssertionError("the stream ended without a response")


async def until_abandoned(server: LlmServer) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await server.was_abandoned.wait()
