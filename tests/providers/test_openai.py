import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import Secret
from agent.errors import ProviderError, ProviderRefused, TransientProviderError
from agent.http import HttpClient
from agent.messages import ChatMessage, Effect, ToolCall, ToolSpec
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Stop,
    TextDelta,
    Usage,
)
from agent.providers.openai import OpenAIProvider
from agent.providers.reader import Patience
from agent.providers.settings import ProviderSettings
from tests.fakes import llm_server
from tests.fakes.llm_server import Call, LlmServer, Reply, failed, running, sse, streamed, whole
from tests.fakes.llm_transport import OneReplyTransport

KEY = "canary-0123456789"
ASKED = ChatRequest((ChatMessage.user("turn the led on"),))
TOOLS = (ToolSpec("board_gpio_write", "Sets a pin.", {"type": "object"}, Effect.ACTUATE),)
WRITE = Call("board_gpio_write", '{"pin":"led","value":"on"}')
TEXT = "Gern! 好的,打开灯 💡 — fertig."


def provider_at(server: LlmServer, patience: Patience | None = None) -> OpenAIProvider:
    chosen = ProviderSettings(base_url=server.base_url, model="fake-model", api_key=Secret(KEY))
    return OpenAIProvider(chosen, {}, HttpClient(), patience)


@asynccontextmanager
async def asking(
    *script: object, patience: Patience | None = None
) -> AsyncIterator[tuple[LlmServer, OpenAIProvider]]:
    async with running(*script) as server:
        provider = provider_at(server, patience)
        yield server, provider
        await provider._http.aclose()


def provider_of(reply: Reply) -> OpenAIProvider:
    """A provider whose service gives one reply, without a socket."""
    http = HttpClient(OneReplyTransport(reply))
    return OpenAIProvider(ProviderSettings(base_url="http://service.invalid"), {}, http)


async def heard(
    provider: OpenAIProvider, request: ChatRequest = ASKED
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


async def test_text_streams_and_ends_with_one_response() -> None:
    async with asking(streamed(TEXT)) as (_, provider):
        items = [item async for item in provider.stream(ASKED)]
    *deltas, last = items
    assert len(deltas) > 3
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert last == ChatResponse(TEXT, (), Stop.END, Usage(7, len(TEXT)))
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == TEXT


@pytest.mark.parametrize("piece_bytes", [0, 1, 7, 64])
async def test_a_tool_call_arrives_whole_however_the_stream_is_cut(piece_bytes: int) -> None:
    async with asking(streamed(TEXT, WRITE, piece_bytes=piece_bytes)) as (_, provider):
        response = await provider.chat(ASKED)
    assert response.text == TEXT
    assert response.tool_calls == (ToolCall("call_1", WRITE.name, WRITE.arguments),)
    assert response.stop is Stop.TOOLS


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
        provider = OpenAIProvider(chosen, {}, HttpClient())
        await provider.chat(ASKED)
        await provider._http.aclose()
    assert "authorization" not in server.requests[0].headers


async def test_a_key_of_the_environment_is_sent() -> None:
    async with running(streamed("ok")) as server:
        chosen = ProviderSettings(base_url=server.base_url)
        provider = OpenAIProvider(chosen, {"API_KEY": "from-there"}, HttpClient())
        await provider.chat(ASKED)
        await provider._http.aclose()
    assert server.requests[0].headers["authorization"] == "bearer from-there"


async def test_connections_are_used_again() -> None:
    async with asking(streamed("one"), streamed("two"), whole("three")) as (_, provider):
        client = await provider._http.get()
        for _ in range(3):
            await provider.chat(ASKED)
        assert len(client._transport._pool.connections) == 1


# Every cut, at every byte


FULL = sse(*llm_server.events("Hi 💡!", [WRITE], piece_chars=9))
FINISH_AT = FULL.index(b'"finish_reason":"tool_calls"')


async def test_a_stream_cut_after_any_byte_never_gives_half_a_call() -> None:
    calls = (ToolCall("call_1", WRITE.name, WRITE.arguments),)
    complete = 0
    for cut_after in range(len(FULL) + 1):
        shown, ended = await heard(provider_of(Reply(FULL, cut_after=cut_after)))
        assert "Hi 💡!".startswith(shown)
        if isinstance(ended, ChatResponse):
            complete += 1
            assert cut_after > FINISH_AT
            assert (ended.text, ended.tool_calls) == (shown, calls)
        else:
            assert isinstance(ended, TransientProviderError)
    assert complete > 0


async def test_a_stream_that_ends_after_any_byte_never_gives_half_a_call() -> None:
    for end in range(len(FULL) + 1):
        _, ended = await heard(provider_of(Reply(FULL[:end])))
        if isinstance(ended, ChatResponse):
            assert end > FINISH_AT
            assert ended.tool_calls[0].arguments_json == WRITE.arguments


async def test_one_byte_at_a_time_gives_the_same_as_all_at_once() -> None:
    at_once = await heard(provider_of(Reply(FULL)))
    assert await heard(provider_of(Reply(FULL, piece_bytes=1))) == at_once
    assert at_once[0] == "Hi 💡!"


async def test_a_cut_names_the_call_and_keeps_the_text() -> None:
    async with asking(Reply(FULL, cut_after=FINISH_AT)) as (_, provider):
        shown, ended = await heard(provider)
    assert shown == "Hi 💡!"
    assert isinstance(ended, TransientProviderError)
    assert "in the middle of the call to board_gpio_write" in str(ended)


@pytest.mark.parametrize("missing", [b"data: [DONE]\n\n", b"\n\ndata: [DONE]\n\n", b"\n"])
async def test_the_end_mark_is_optional_once_the_reason_is_known(missing: bytes) -> None:
    shown, ended = await heard(provider_of(Reply(FULL.removesuffix(missing))))
    assert isinstance(ended, ChatResponse)
    assert ended.tool_calls
    assert shown == ended.text


async def test_an_end_mark_without_a_reason_makes_no_call_whole() -> None:
    chunks = llm_server.events("", [WRITE])[:-2]
    _, ended = await heard(provider_of(Reply(sse(*chunks))))
    assert isinstance(ended, TransientProviderError)
    assert "board_gpio_write" in str(ended)


# Garbage


@settings(max_examples=150)
@given(st.data())
async def test_flipped_and_spliced_streams_end_in_a_response_or_a_sentence(
    data: st.DataObject,
) -> None:
    stream = bytearray(FULL)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=12))
    shown, ended = await heard(provider_of(Reply(bytes(stream))))
    shown.encode()
    if isinstance(ended, ChatResponse):
        assert ended.text == shown
    else:
        assert str(ended).isprintable()


@given(st.binary(max_size=300), st.sampled_from(["text/event-stream", "application/json", ""]))
async def test_noise_of_any_type_is_a_sentence(noise: bytes, content_type: str) -> None:
    _, ended = await heard(provider_of(Reply(noise, content_type=content_type)))
    if isinstance(ended, ProviderError):
        assert str(ended).isprintable()


async def test_a_captive_portal_is_a_sentence() -> None:
    async with asking(llm_server.captive_portal()) as (_, provider):
        _, ended = await heard(provider)
    assert isinstance(ended, TransientProviderError)
    assert "web page" in str(ended)
    assert "sign-in page" in str(ended)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(b"hello", content_type="text/plain"), "sent text/plain instead of a completion"),
        (Reply(b"", content_type=""), "sent nothing instead of a completion"),
        (Reply(b"data: nonsense\n\n"), "no completion: not JSON"),
        (Reply(b"data: " + b"[" * 40 + b"\n\n"), "nested deeper than 32"),
        (Reply(b'data: {"choices":7}\n\n'), "Expected `array"),
        (Reply(b"data: " + b"x" * 300_000), "more than 256 KB"),
        (Reply(b"{" + b" " * 1_100_000, content_type="application/json"), "more than 1024 KB"),
        (Reply(b"[1]", content_type="application/json"), "no completion"),
    ],
)
async def test_what_is_no_completion_is_a_sentence(reply: Reply, said: str) -> None:
    _, ended = await heard(provider_of(reply))
    assert isinstance(ended, TransientProviderError)
    assert said in str(ended)


async def test_an_endless_answer_is_stopped_by_its_size() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "x" * 60_000}}]}
    shown, ended = await heard(provider_of(Reply(sse(*[chunk] * 30))))
    assert "longer than 1024 KB" in str(ended)
    assert len(shown) <= 1024 * 1024


async def test_line_separators_inside_data_are_text() -> None:
    text = "a\u2028b\u2029c\u0085d"
    assert (await heard(provider_of(streamed(text))))[0] == text


async def test_halves_of_characters_are_joined() -> None:
    stream = (
        b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"\\udca1"},"finish_reason":"stop"}]}\n\n'
    )
    assert (await heard(provider_of(Reply(stream))))[0] == "💡"


# Errors


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (failed(401, f"bad key {KEY}"), ProviderRefused, "the key from provider.api_key"),
        (failed(404, "no such model"), ProviderRefused, "change provider.model"),
        (failed(429, "quota", code="insufficient_quota"), ProviderRefused, "no quota left"),
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
    limited = replace(failed(429, "slow down"), headers=(("retry-after", "11"),))
    async with asking(limited) as (server, provider):
        _, ended = await heard(provider)
        # Whoever retries does it around the provider
        assert len(server.requests) == 1
    assert isinstance(ended, TransientProviderError)
    assert ended.retry_after_s == 11.0


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


# Time


async def test_silence_before_the_first_event_is_given_up() -> None:
    patience = Patience(total_s=5, first_byte_s=0.1)
    async with asking(Reply(stalls=True), patience=patience) as (server, provider):
        _, ended = await heard(provider)
        await until_abandoned(server)
    assert isinstance(ended, TransientProviderError)
    assert "sent nothing" in str(ended)


async def test_silence_in_the_middle_keeps_the_text_and_names_the_place() -> None:
    begun = Reply(sse(*llm_server.events("Begun")[:3], done=False), stalls=True)
    patience = Patience(total_s=5, between_bytes_s=0.1)
    async with asking(begun, patience=patience) as (_, provider):
        shown, ended = await heard(provider)
    assert shown == "Begun"
    assert "sent nothing" in str(ended)
    assert "in the middle of the answer" in str(ended)


async def test_a_drip_ends_at_the_limit_of_the_whole_answer() -> None:
    dripping = streamed("x" * 400, piece_bytes=16, pause_s=0.02)
    patience = Patience(total_s=0.3, first_byte_s=5, between_bytes_s=5)
    async with asking(dripping, patience=patience) as (_, provider):
        _, ended = await heard(provider)
    assert isinstance(ended, TransientProviderError)
    assert "provider.timeout_s" in str(ended)


async def test_silence_after_the_reason_loses_only_the_token_count() -> None:
    finished = Reply(sse(*llm_server.events("Done", [WRITE])[:-1], done=False), stalls=True)
    patience = Patience(total_s=5, between_bytes_s=0.1)
    async with asking(finished, patience=patience) as (_, provider):
        _, ended = await heard(provider)
    assert isinstance(ended, ChatResponse)
    assert ended.tool_calls
    assert ended.usage == Usage()


async def test_a_service_that_does_not_close_after_the_end_mark_costs_nothing() -> None:
    unclosed = replace(streamed("Done"), stalls=True)
    async with asking(unclosed) as (_, provider):
        async with asyncio.timeout(2):
            assert (await provider.chat(ASKED)).text == "Done"


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


async def until_abandoned(server: LlmServer) -> None:
    async with asyncio.timeout(2):
        await server.was_abandoned.wait()


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
    assert await provider.simple_chat("hi", system="be brief") == "x"
    await provider.aclose()


async def test_the_official_service_is_the_default() -> None:
    provider = OpenAIProvider(ProviderSettings(), {}, HttpClient())
    assert provider._service.host == "api.openai.com"
    assert provider._service.url == "https://api.openai.com/v1"
