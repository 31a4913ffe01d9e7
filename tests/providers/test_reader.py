import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ProviderError, TransientProviderError
from agent.messages import ToolCall
from agent.providers.base import ChatResponse, Usage
from agent.providers.reader import RequestTimeouts
from tests.fakes import llm_server
from tests.fakes.llm_server import Reply, sse, streamed
from tests.fakes.llm_talk import ASKED, WRITE, asking, heard, provider_of, until_abandoned

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


@pytest.mark.parametrize("piece_bytes", [0, 1])
@pytest.mark.parametrize("before", [b"", b": ping\n\n", b"event: message\n"])
async def test_a_stream_that_is_called_json_is_a_stream(before: bytes, piece_bytes: int) -> None:
    at_once = await heard(provider_of(Reply(FULL)))
    called = Reply(before + FULL, content_type="application/json", piece_bytes=piece_bytes)
    assert await heard(provider_of(called)) == at_once


@pytest.mark.parametrize("empty", [b"data:\n\n", b"data: \r\n\r\n", b"event: ping\ndata:\n\n"])
async def test_an_event_of_nothing_holds_the_connection_and_says_nothing(empty: bytes) -> None:
    at_once = await heard(provider_of(Reply(FULL)))
    kept = empty + FULL.replace(b"\n\n", b"\n\n" + empty)
    assert await heard(provider_of(Reply(kept))) == at_once


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
        (Reply(b"data: nonsense\n\n"), "an invalid completion: not JSON"),
        (Reply(b"data: " + b"[" * 40 + b"\n\n"), "nested deeper than 32"),
        (Reply(b'data: {"choices":7}\n\n'), "Expected `array"),
        (Reply(b"data: " + b"x" * 300_000), "more than 256 KB"),
        (Reply(b"{" + b" " * 1_100_000, content_type="application/json"), "more than 1024 KB"),
        (Reply(b"[1]", content_type="application/json"), "an invalid completion"),
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


# Time


async def test_silence_before_the_first_event_is_given_up() -> None:
    patience = RequestTimeouts(total_s=5, first_byte_s=0.1)
    async with asking(Reply(stalls=True), patience=patience) as (server, provider):
        _, ended = await heard(provider)
        await until_abandoned(server)
    assert isinstance(ended, TransientProviderError)
    assert "sent nothing" in str(ended)


async def test_silence_in_the_middle_keeps_the_text_and_names_the_place() -> None:
    begun = Reply(sse(*llm_server.events("Begun")[:3], done=False), stalls=True)
    patience = RequestTimeouts(total_s=5, between_bytes_s=0.1)
    async with asking(begun, patience=patience) as (_, provider):
        shown, ended = await heard(provider)
    assert shown == "Begun"
    assert "sent nothing" in str(ended)
    assert "in the middle of the answer" in str(ended)


async def test_a_drip_ends_at_the_limit_of_the_whole_answer() -> None:
    dripping = streamed("x" * 400, piece_bytes=16, pause_s=0.02)
    patience = RequestTimeouts(total_s=0.3, first_byte_s=5, between_bytes_s=5)
    async with asking(dripping, patience=patience) as (_, provider):
        _, ended = await heard(provider)
    assert isinstance(ended, TransientProviderError)
    assert "provider.timeout_s" in str(ended)


async def test_silence_after_the_reason_loses_only_the_token_count() -> None:
    finished = Reply(sse(*llm_server.events("Done", [WRITE])[:-1], done=False), stalls=True)
    patience = RequestTimeouts(total_s=5, between_bytes_s=0.1)
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
