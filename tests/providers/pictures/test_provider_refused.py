"""Pictures that a service refuses cost the conversation nothing but themselves."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.config import Secret
from agent.errors import ContextOverflow, PicturesRefused, ProviderError
from agent.messages import ChatMessage, Image
from agent.net.http import HttpClient
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider
from agent.providers.create import chain
from agent.providers.pictures.provider import MOST_REFUSED, PicturesProvider
from agent.providers.section import MainProviderSettings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import Json, LlmServer, Reply, failed, running, streamed
from tests.fakes.llm_talk import heard
from tests.fakes.said import assistant_said, user_said

SHOWN = user_said("what is [IMAGE:big.png]?")
HISTORY = (
    *(user_said("my cat is Mia"), assistant_said("Nice.")),
    *(user_said("and the dog Rex"), assistant_said("Fine.")),
)
ANTHROPIC = failed(400, "messages.4.content.1.image.source.base64: image exceeds 5 MB maximum")
PIXELS = failed(400, "At least one of the image dimensions exceed max allowed size: 8000 pixels")
REFUSALS = [
    ANTHROPIC,
    PIXELS,
    failed(413, "Request Entity Too Large", type="invalid_request_error"),
    Reply(b"<html>413 Request Entity Too Large</html>", 413, "text/html"),
    failed(413, "Request exceeds the maximum size", type="request_too_large"),
    failed(400, "Request payload size exceeds the limit: 4194304 bytes."),
    failed(400, "no", code="image_parse_error"),
    failed(404, "No endpoints found that support image input"),
    failed(500, "image input is not supported - hint: you may need to provide the mmproj"),
]


class Files:
    """Has a picture of every name; `content` is what they are now."""

    content = "AAAA"

    async def load(self, reference: str) -> Image | str:
        return Image("image/png", self.content)


class Refusing:
    """A service that refuses requests with pictures; keeps what it was asked."""

    def __init__(self, refusal: Reply, *, without: Reply | None = None) -> None:
        self.bodies: list[str] = []
        self._refusal = refusal
        self._without = without or streamed("A cat.")

    def __call__(self, body: Json) -> Reply:
        self.bodies.append(json.dumps(body["messages"]))
        return self._refusal if "image_url" in self.bodies[-1] else self._without


def settings_of(server: LlmServer, *fallbacks: str) -> MainProviderSettings:
    key = Secret(secret("provider"))
    return MainProviderSettings(
        base_url=server.base_url, api_key=key, model="m", vision="yes", fallbacks=fallbacks
    )


@asynccontextmanager
async def seeing(
    files: Files, server: LlmServer, *others: LlmServer
) -> AsyncIterator[PicturesProvider]:
    http = HttpClient()
    more = {f"other{number}": settings_of(other) for number, other in enumerate(others)}
    inner = chain(settings_of(server, *more), more, {}, http, SteppedClock())
    yield PicturesProvider(inner, files, None, 4)
    await http.aclose()


async def answers(
    service: Refusing, *turns: tuple[ChatMessage, ...]
) -> list[ChatResponse | ProviderError]:
    async with running(*[service] * 20) as server, seeing(Files(), server) as provider:
        return [(await heard(provider, ChatRequest(turn)))[1] for turn in turns]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_picture_is_left_out_and_told_and_not_sent_again(refusal: Reply) -> None:
    service = Refusing(refusal)
    first = (*HISTORY, SHOWN)
    second = (*first, assistant_said("A cat."), user_said("thanks"))
    found = await answers(service, first, second)
    assert [one.text if isinstance(one, ChatResponse) else one for one in found] == ["A cat."] * 2
    # Nothing else of the conversation is lost by it
    assert not any(one.was_shortened for one in found if isinstance(one, ChatResponse))
    with_picture, *without = service.bodies
    assert "image_url" in with_picture
    assert len(without) == 2
    for body in without:
        assert "Mia" in body
        assert "[picture big.png, not shown: " in body
        assert "refused a picture" in body


async def test_a_picture_of_the_same_name_with_another_content_is_shown() -> None:
    files, service = Files(), Refusing(PIXELS)
    async with (
        running(service, service, streamed("Small.")) as server,
        seeing(files, server) as provider,
    ):
        await provider.chat(ChatRequest((SHOWN,)))
        files.content = "BBBB"
        assert (await provider.chat(ChatRequest((SHOWN,)))).text == "Small."
        assert "BBBB" in json.dumps(server.requests[-1].body)


@pytest.mark.parametrize(
    "refusal",
    [
        failed(413, "Prompt is too long"),
        failed(413, "Request too large for model `x` on tokens per minute"),
        failed(400, "maximum context length is 8192 tokens, with 1200 of an image"),
    ],
)
async def test_what_has_too_many_tokens_is_shortened_as_ever(refusal: Reply) -> None:
    (found,) = await answers(Refusing(refusal), (*HISTORY, SHOWN))
    assert isinstance(found, ContextOverflow)


async def test_without_a_picture_such_words_are_not_about_one() -> None:
    too_large = failed(413, "Request Entity Too Large")
    (found,) = await answers(Refusing(PIXELS, without=too_large), (*HISTORY, SHOWN))
    assert isinstance(found, ContextOverflow)
    (found,) = await answers(Refusing(PIXELS, without=PIXELS), (user_said("hi"),))
    assert not isinstance(found, PicturesRefused)


async def test_a_service_that_takes_the_picture_is_asked_before_it_is_left_out() -> None:
    async with (
        running(ANTHROPIC) as first,
        running(streamed("A cat.")) as second,
        seeing(Files(), first, second) as provider,
    ):
        assert (await provider.chat(ChatRequest((SHOWN,)))).text == "A cat."
        assert len(first.requests) == len(second.requests) == 1


async def test_where_every_service_refuses_it_the_first_one_goes_on_without() -> None:
    async with (
        running(ANTHROPIC, streamed("No.")) as first,
        running(failed(400, "no")) as second,
        seeing(Files(), first, second) as provider,
    ):
        assert (await provider.chat(ChatRequest((SHOWN,)))).text == "No."


class BlindService(Provider):
    """Says that it sees, and refuses whatever has a picture."""

    async def chat(self, request: ChatRequest) -> ChatResponse:
        if any(message.images for message in request.messages):
            raise PicturesRefused("no")
        return ChatResponse("ok")

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities(vision=True)


async def test_what_was_refused_is_not_remembered_without_end() -> None:
    files = Files()
    provider = PicturesProvider(BlindService(), files, None, 4)
    for number in range(MOST_REFUSED + 5):
        files.content = f"{number:04}"
        assert (await provider.chat(ChatRequest((SHOWN,)))).text == "ok"
    assert len(provider._refused) == MOST_REFUSED
