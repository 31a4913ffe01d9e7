import asyncio
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import (
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    TransientProviderError,
)
from agent.messages import Effect, ToolCall
from agent.net.http import HttpClient
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    StopReason,
    TextDelta,
    Usage,
)
from agent.providers.create import service_provider
from agent.providers.settings import ProviderSettings
from tests.fakes import llm_server
from tests.fakes.llm_server import Call, Reply, failed, running, sse, streamed, whole
from tests.fakes.llm_talk import (
    ASKED,
    KEY,
    TEXT,
    WRITE,
    asking,
    heard,
    provider_at,
    provider_of,
    until_abandoned,
)
from tests.fakes.said import assistant_said, spec_of, tool_said, user_said, words

ROOT = Path(__file__).parents[3]
TOOLS = (spec_of("board_gpio_write", "Sets a pin.", {"type": "object"}, Effect.ACTUATE),)


async def test_text_streams_and_ends_with_one_response() -> None:
    async with asking(streamed(TEXT)) as (_, provider):
        items = [item async for item in provider.stream(ASKED)]
    *deltas, last = items
    assert len(deltas) > 3
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert last == ChatResponse(TEXT, (), StopReason.END, Usage(7, len(TEXT)), model="fake-model")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == TEXT


@pytest.mark.parametrize("piece_bytes", [0, 1, 7, 64])
async def test_a_tool_call_arrives_whole_however_the_stream_is_cut(piece_bytes: int) -> None:
    async with asking(streamed(TEXT, WRITE, piece_bytes=piece_bytes)) as (_, provider):
        response = await provider.chat(ASKED)
    assert response.text == TEXT
    assert response.tool_calls == (ToolCall("call_1", WRITE.name, WRITE.arguments),)
    assert response.stop is StopReason.TOOLS


async def test_several_calls_keep_their_order() -> None:
    calls = [Call(f"tool_{n}", f'{{"n":{n}}}', f"id_{n}") for n in range(5)]
    async with asking(streamed("", *calls)) as (_, provider):
        response = await provider.chat(ASKED)
    assert [call.name for call in response.tool_calls] == [f"tool_{n}" for n in range(5)]


async def test_an_answer_in_one_document_is_as_good() -> None:
    async with asking(whole(TEXT, WRITE)) as (_, provider):
        shown, response = await heard(provider)
    assert shown == TEXT
    assert isinstance(response, ChatResponse)
    assert response.tool_calls == (ToolCall("call_1", WRITE.name, WRITE.arguments),)
    assert response.usage == Usage(7, len(TEXT))


async def test_what_is_sent() -> None:
    async with asking(streamed("ok")) as (server, provider):
        await provider.chat(replace(ASKED, tools=TOOLS))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.body["model"] == "fake-model"
    assert request.body["stream"] is True
    assert "board_gpio_write" in json.dumps(request.body["tools"])


async def test_without_a_key_no_authorization_is_sent() -> None:
    async with running(streamed("ok")) as server:
        chosen = ProviderSettings(base_url=server.base_url)
        provider = service_provider(chosen, {}, HttpClient())
        await provider.chat(ASKED)
        await provider._http.aclose()
    assert "authorization" not in server.requests[0].headers


async def test_a_key_of_the_environment_is_sent() -> None:
    async with running(streamed("ok")) as server:
        chosen = ProviderSettings(base_url=server.base_url)
        provider = service_provider(chosen, {"API_KEY": "from-there"}, HttpClient())
        await provider.chat(ASKED)
        await provider._http.aclose()
    assert server.requests[0].headers["authorization"] == "bearer from-there"


async def test_connections_are_used_again() -> None:
    async with asking(streamed("one"), streamed("two"), whole("three")) as (_, provider):
        for _ in range(3):
            await provider.chat(ASKED)
        direct = provider._http._direct
        assert direct is not None
        assert (len(direct._idle), len(direct._busy)) == (1, 0)


# Errors


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (failed(401, f"bad key {KEY}"), KeyRefused, "the key from provider.api_key"),
        (failed(404, "no such model"), ProviderRefused, "change provider.model"),
        (failed(429, "quota", code="insufficient_quota"), QuotaExhausted, "no quota left"),
        (failed(500, "oops"), TransientProviderError, "cannot answer now"),
        (Reply(status=302), TransientProviderError, "sign-in page"),
        (Reply(b"x" * 200_000, status=400), ProviderRefused, "refused the request"),
        (Reply(b"begun", status=503, cut_after=3), TransientProviderError, "503"),
    ],
)
async def test_errors_before_the_answer(reply: Reply, kind: type[ProviderError], said: str) -> None:
    async with asking(reply) as (_, provider):
        shown, ended = await heard(provider)
    assert shown == ""
    assert type(ended) is kind
    assert said in str(ended)
    assert KEY not in str(ended)
    assert len(str(ended)) < 700


async def test_a_rate_limit_carries_how_long_to_wait() -> None:
    limited = dataclasses.replace(failed(429, "slow down"), headers=(("retry-after", "11"),))
    async with asking(limited) as (server, provider):
        _, ended = await heard(provider)
        # Whoever retries does it around the provider
        assert len(server.requests) == 1
    assert isinstance(ended, TransientProviderError)
    assert ended.retry_after_s == 11.0


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        (("retry-after-ms", "1500"), 1.5),
        (("retry-after-ms", "1500.5"), 1.5005),
        (("X-RateLimit-Reset-Tokens", "2.5s"), 2.5),
        # Digits, but no number
        (("retry-after-ms", "²"), None),
        (("retry-after-ms", "9" * 5000), None),
    ],
)
async def test_a_limit_is_told_by_other_headers_too(
    header: tuple[str, str], wait_s: float | None
) -> None:
    async with asking(dataclasses.replace(failed(429, "slow down"), headers=(header,))) as (
        _,
        provider,
    ):
        _, ended = await heard(provider)
    assert isinstance(ended, TransientProviderError)
    assert ended.retry_after_s == wait_s


async def test_an_error_in_the_middle_of_a_stream_keeps_the_text() -> None:
    begun = sse(*llm_server.events("Begun")[:3], {"error": {"code": 502, "message": "gone"}})
    shown, ended = await heard(provider_of(Reply(begun)))
    assert shown == "Begun"
    assert isinstance(ended, TransientProviderError)
    assert "gone" in str(ended)


async def test_an_error_in_a_whole_answer() -> None:
    error = Reply(b'{"error":{"message":"no","code":403}}', content_type="application/json")
    _, ended = await heard(provider_of(error))
    assert isinstance(ended, ProviderRefused)


async def test_nobody_there_is_a_sentence() -> None:
    async with running(streamed("x")) as server:
        provider = provider_at(server)
    _, ended = await heard(provider)
    assert isinstance(ended, TransientProviderError)
    assert "could not be reached" in str(ended)
    with pytest.raises(TransientProviderError, match="could not be reached"):
        await provider.list_models()
    await provider._http.aclose()


# Cancellation


async def test_cancelling_in_the_middle_closes_the_connection_at_once() -> None:
    begun = Reply(sse(*llm_server.events("Begun")[:3], done=False), stalls=True)
    async with asking(begun) as (server, provider):
        has_begun = asyncio.Event()

        async def turn() -> None:
            async for _ in provider.stream(ASKED):
                has_begun.set()

        task = asyncio.create_task(turn())
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_abandoned(server)


async def test_closing_the_stream_early_closes_the_connection_at_once() -> None:
    begun = Reply(sse(*llm_server.events("Begun")[:3], done=False), stalls=True)
    async with asking(begun) as (server, provider):
        async with aclosing(provider.stream(ASKED)) as items:
            assert await anext(items) == TextDelta("Begu")
        await until_abandoned(server)


# Dialects


NEEDS_OTHER_NAME = failed(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
ONLY_DEFAULT_TEMPERATURE = failed(
    400,
    "Unsupported value: 'temperature' does not support 0.7 with this model.",
    param="temperature",
)
NO_EFFORT_WITH_TOOLS = failed(
    400, "Function tools with reasoning_effort are not supported", param="reasoning_effort"
)


async def test_a_refused_parameter_is_changed_once_and_remembered_for_the_model() -> None:
    script = (NEEDS_OTHER_NAME, ONLY_DEFAULT_TEMPERATURE, NO_EFFORT_WITH_TOOLS, streamed("ok"))
    async with asking(*script) as (server, provider):
        request = replace(ASKED, tools=TOOLS)
        assert (await provider.chat(request)).text == "ok"
        assert (await provider.chat(request)).text == "ok"
        await provider.chat(replace(request, model="another"))
    bodies = [request.body for request in server.requests]
    assert len(bodies) == 6
    for learned in bodies[3:5]:
        assert "max_tokens" not in learned
        assert "temperature" not in learned
        assert learned["max_completion_tokens"] == 4096
        assert learned["reasoning_effort"] == "none"
    assert "max_tokens" in bodies[5]


async def test_a_service_that_refuses_everything_is_not_asked_for_ever() -> None:
    async with asking(NEEDS_OTHER_NAME) as (server, provider):
        _, ended = await heard(provider)
    assert isinstance(ended, ProviderRefused)
    assert len(server.requests) == 5


async def test_what_is_too_much_is_not_asked_again() -> None:
    async with asking(failed(400, "max_tokens is too large: 4096")) as (server, provider):
        _, ended = await heard(provider)
    assert "max_tokens is too large" in str(ended)
    assert len(server.requests) == 1


# The rest of the seam


async def test_models_are_listed_sorted_and_cleaned() -> None:
    listed = llm_server.models("b", "a", "evil\x1b[2J", "x" * 500, "")
    provider = provider_of(listed)
    assert await provider.list_models() == ("a", "b")


async def test_a_list_of_models_may_be_bare() -> None:
    # As Together sends it
    reply = Reply(
        body=b'[{"id": "b", "object": "model"}, {"id": "a"}]', content_type=llm_server.JSON
    )
    assert await provider_of(reply).list_models() == ("a", "b")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failed(401, "no"), ProviderRefused),
        (Reply(b"nonsense", content_type="application/json"), TransientProviderError),
        (Reply(b'{"data":[7]}', content_type="application/json"), TransientProviderError),
    ],
)
async def test_a_list_of_models_that_is_none(reply: Reply, kind: type[ProviderError]) -> None:
    with pytest.raises(kind):
        await provider_of(reply).list_models()


async def test_capabilities_and_warming_up() -> None:
    provider = provider_of(streamed("x"))
    assert provider.capabilities() == Capabilities(native_tools=True, streaming=True)
    await provider.warm_up()
    assert await provider.simple_chat(words("hi"), system=words("be brief")) == "x"
    await provider.aclose()


async def test_the_official_service_is_the_default() -> None:
    provider = service_provider(ProviderSettings(), {}, HttpClient())
    assert provider._endpoint.host == "api.openai.com"
    assert provider._endpoint.url == "https://api.openai.com/v1"


# The obedient model, started by hand


@pytest.fixture(scope="module")
def obedient_url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.fakes.llm_server", "--obedient"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.parametrize(
    ("said", "call", "result", "answer"),
    [
        (
            "turn the led on",
            ("board_gpio_write", {"pin": "led", "value": "on"}),
            '{"pin":"led","value":"on"}',
            "The led is on now.",
        ),
        (
            "关闭led灯",
            ("board_gpio_write", {"pin": "led", "value": "off"}),
            '{"pin":"led","value":"off"}',
            "led 现在已关闭。",
        ),
        (
            "what is the temperature?",
            ("board_mcu_temperature", {}),
            '{"value":24.5,"unit":"°C"}',
            "It is 24.5 °C.",
        ),
        (
            "记住我妹妹叫小美",
            ("memory_store", {"content": "我妹妹叫小美"}),
            '{"stored":"k"}',
            "我记住了。",
        ),
        (
            "what is my sister called?",
            ("memory_recall", {"query": "what is my sister called?"}),
            '{"memories":[{"key":"k","content":"my sister is called Mei"}]}',
            "You told me: my sister is called Mei",
        ),
        (
            "turn the led on",
            ("board_gpio_write", {"pin": "led", "value": "on"}),
            "error: the board is not connected (unplugged)",
            "That did not work: error: the board is not connected (unplugged)",
        ),
    ],
)
async def test_a_whole_turn_with_the_obedient_model(
    obedient_url: str, said: str, call: tuple[str, dict[str, str]], result: str, answer: str
) -> None:
    http = HttpClient()
    provider = service_provider(ProviderSettings(base_url=obedient_url), {}, http)
    names = ("board_gpio_write", "board_mcu_temperature", "memory_store", "memory_recall")
    tools = tuple(replace(TOOLS[0], name=name) for name in names)
    asked = ChatRequest((user_said(said),), tools)
    _, wanted = await heard(provider, asked)
    assert isinstance(wanted, ChatResponse)
    (made,) = wanted.tool_calls
    assert (made.name, json.loads(made.arguments_json)) == call
    turn = (assistant_said("", (made,)), tool_said(made, result))
    shown, _ = await heard(provider, replace(asked, messages=(*asked.messages, *turn)))
    assert shown == answer
    await http.aclose()
