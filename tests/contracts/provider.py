"""What every wire does with an answer, however the network or the program behind it treats it.

A case brings its own streams, written from its vendor's documentation.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from agent.config import Secret
from agent.errors import ProviderError, TransientProviderError
from agent.messages import Effect, Role, ToolCall
from agent.net.http import HttpClient
from agent.providers.answer import AnswerBuilder
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason
from agent.providers.endpoint import Endpoint
from agent.providers.reader import RequestTimeouts
from agent.providers.service import ServiceProvider
from agent.providers.service_json import WireError
from agent.providers.wire import Sampling, ToldError, WireFormat
from tests.canaries import secret
from tests.fakes.llm_server import Call, Reply
from tests.fakes.llm_talk import heard
from tests.fakes.llm_transport import OneReplyTransport
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said

KEY = secret("provider")
MODEL = "fake-model"
TEXT = "Gern! 好的 💡"
_LOST_EVERY_BYTES = 7
WRITE = Call("board_gpio_write", '{"pin":"led","value":"on"}')
NO_ARGUMENTS = Call("board_info", "{}", "call_2")
ODD_VALUES = (None, True, -1, 10**30, float("inf"), "", "x", [], {}, [None], {"type": "x"})
SAMPLING = Sampling(MODEL, 0.5, 500)
ASKED = ChatRequest((system_said("Be brief."), user_said("turn the led on")))
TOOLS = (
    spec_of("zoom", "Zooms.", {"type": "object"}, Effect.READ),
    spec_of("board_gpio_write", "Sets a pin.", {"type": "object"}, Effect.ACTUATE),
)


class AnswerCase(Protocol):
    """Answers of one kind of service.

    Args:
        request: what is asked, with the tools of the calls where it takes them to read any.
        stream: an answer with TEXT and the calls WRITE and NO_ARGUMENTS, to its very end.
        ends_at: so many bytes of it have to be there before a call may run.
        text_only: an answer with TEXT alone.
        document: the same answer as one document; empty where the format has none.
        errors: refusals as the service words them, with the error that each has to become.
        gives_ids: whether the service names its calls.
    """

    @property
    def request(self) -> ChatRequest: ...
    @property
    def stream(self) -> bytes: ...
    @property
    def ends_at(self) -> int: ...
    @property
    def text_only(self) -> bytes: ...
    @property
    def document(self) -> bytes: ...
    @property
    def told_in_stream(self) -> bytes: ...
    @property
    def errors(self) -> tuple[tuple[Reply, type[ProviderError]], ...]: ...
    @property
    def content_type(self) -> str: ...
    @property
    def gives_ids(self) -> bool: ...

    def provider(self, reply: Reply) -> Provider:
        """Return a provider that is given this reply."""


@dataclass(frozen=True)
class WireCase:
    """An `AnswerCase` of one wire format."""

    wire: WireFormat[Any]
    stream: bytes
    ends_at: int
    text_only: bytes
    document: bytes
    told_in_stream: bytes
    errors: tuple[tuple[Reply, type[ProviderError]], ...]
    content_type: str = "text/event-stream; charset=utf-8"
    gives_ids: bool = True
    request: ChatRequest = ASKED

    def provider(self, reply: Reply) -> ServiceProvider[Any]:
        """A provider whose service gives one reply, without a socket."""
        endpoint = Endpoint("http://service.invalid/v1", Secret(KEY), "SOME_KEY")
        http = HttpClient(OneReplyTransport(reply))
        return ServiceProvider("fake", endpoint, self.wire, SAMPLING, http, RequestTimeouts(5.0))


def _reply(case: AnswerCase, body: bytes, **more: Any) -> Reply:
    return Reply(body, content_type=case.content_type, **more)


async def is_the_same_however_it_is_cut(case: AnswerCase) -> None:
    for piece_bytes in (0, 1, 3, 64):
        reply = _reply(case, case.stream, piece_bytes=piece_bytes)
        shown, ended = await heard(case.provider(reply), case.request)
        assert isinstance(ended, ChatResponse), (piece_bytes, ended)
        assert shown == ended.text == TEXT
        _is_what_was_called(case, ended.tool_calls)
        assert ended.stop is StopReason.TOOLS


async def never_runs_half_a_call(case: AnswerCase) -> None:
    complete = 0
    for end in range(len(case.stream) + 1):
        replies = [_reply(case, case.stream[:end])]
        # A lost connection says so by itself: seen where lines end, and here and there in them
        if end % _LOST_EVERY_BYTES == 0 or b"\n" in case.stream[end - 1 : end + 1]:
            replies.append(_reply(case, case.stream, cut_after=end))
        for shown, ended in await asyncio.gather(
            *(heard(case.provider(one), case.request) for one in replies)
        ):
            assert TEXT.startswith(shown)
            if isinstance(ended, ChatResponse):
                complete += 1
                assert end >= case.ends_at, end
                assert ended.text == TEXT
                _is_what_was_called(case, ended.tool_calls)
            else:
                assert isinstance(ended, TransientProviderError), ended
    assert complete > 0


async def is_as_good_in_one_document(case: AnswerCase) -> None:
    reply = Reply(case.document, content_type="application/json")
    shown, ended = await heard(case.provider(reply), case.request)
    assert isinstance(ended, ChatResponse)
    assert shown == TEXT
    _is_what_was_called(case, ended.tool_calls)


async def text_alone_ends_a_turn(case: AnswerCase) -> None:
    shown, ended = await heard(case.provider(_reply(case, case.text_only)), case.request)
    assert isinstance(ended, ChatResponse)
    assert (shown, ended.tool_calls, ended.stop) == (TEXT, (), StopReason.END)
    assert ended.usage.input_tokens > 0
    assert ended.usage.output_tokens > 0


async def a_refusal_becomes_what_to_do_next(case: AnswerCase) -> None:
    for reply, kind in case.errors:
        _, ended = await heard(case.provider(reply), case.request)
        assert type(ended) is kind, (reply.status, ended)
        assert KEY not in str(ended)


async def an_error_in_the_stream_is_told(case: AnswerCase) -> None:
    shown, ended = await heard(case.provider(_reply(case, case.told_in_stream)), case.request)
    assert isinstance(ended, TransientProviderError)
    assert TEXT.startswith(shown)


async def the_same_request_is_the_same_bytes(case: WireCase) -> None:
    dialect = case.wire.first_dialect("service.invalid", MODEL)
    request = ChatRequest(ASKED.messages, TOOLS)
    other_order = ChatRequest(ASKED.messages, tuple(reversed(TOOLS)))
    first = case.wire.write(request, SAMPLING, dialect)
    assert first == case.wire.write(other_order, SAMPLING, dialect)
    json.loads(first.body)
    assert "board_gpio_write" in first.body.decode()


async def half_a_character_costs_a_character_only(case: WireCase) -> None:
    dialect = case.wire.first_dialect("service.invalid", MODEL)
    request = ChatRequest((user_said("a \ud83d b"),))
    json.loads(case.wire.write(request, SAMPLING, dialect).body.decode())


async def gaps_in_a_conversation_are_closed(case: AnswerCase) -> None:
    """Every service has a way to refuse each of these; none of them may reach it."""
    call = ToolCall("c1", "lamp", "{}")
    torn = (
        assistant_said("I am here"),
        tool_said(call, "an answer to nothing"),
        user_said("one"),
        assistant_said("", (call, ToolCall("c2", "lamp", "not json"))),
        tool_said(call, "", is_error=True),
        user_said(""),
        user_said("two"),
    )
    provider = case.provider(_reply(case, case.text_only))
    _, ended = await heard(provider, ChatRequest(torn, TOOLS))
    assert isinstance(ended, ChatResponse)
    assert all(message.role is not Role.SYSTEM for message in torn)


async def what_comes_otherwise_is_an_answer_or_refused(case: WireCase) -> None:
    """Each value of a stream and of a document replaced by every kind of another."""
    splitter = case.wire.splitter()
    events = [*splitter.feed(case.stream), *splitter.close()]
    parsed = [json.loads(event) for event in events if event != "[DONE]"]
    for whole in (parsed, [json.loads(case.document)]):
        for path in _paths(whole):
            for odd in ODD_VALUES:
                _is_taken(case.wire, _replaced(whole, path, odd))


def _is_taken(wire: WireFormat[Any], events: list[Any]) -> None:
    answer = AnswerBuilder(wire.name, MODEL)
    try:
        for event in events:
            wire.read(json.dumps(event), answer)
        response = answer.response(SAMPLING.max_tokens)
    except (WireError, ToldError, ProviderError):
        return
    assert all(call.name and call.call_id for call in response.tool_calls)
    assert response.usage.input_tokens >= 0
    assert response.usage.output_tokens >= 0
    if response.echo is not None:
        json.loads(response.echo.content_json)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(part, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], odd: object) -> Any:
    if not path:
        return odd
    changed = value.copy()
    changed[path[0]] = _replaced(value[path[0]], path[1:], odd)
    return changed


def _is_what_was_called(case: AnswerCase, calls: tuple[ToolCall, ...]) -> None:
    said = [(call.name, json.loads(call.arguments_json)) for call in calls]
    assert said == [(call.name, json.loads(call.arguments)) for call in (WRITE, NO_ARGUMENTS)]
    ids = [call.call_id for call in calls]
    assert len(set(ids)) == len(ids)
    if case.gives_ids:
        assert ids == [WRITE.call_id, NO_ARGUMENTS.call_id]


EVERY_ANSWER = (
    is_the_same_however_it_is_cut,
    is_as_good_in_one_document,
    never_runs_half_a_call,
    text_alone_ends_a_turn,
    a_refusal_becomes_what_to_do_next,
    an_error_in_the_stream_is_told,
    gaps_in_a_conversation_are_closed,
)
EVERY_WIRE = (
    *EVERY_ANSWER,
    the_same_request_is_the_same_bytes,
    half_a_character_costs_a_character_only,
    what_comes_otherwise_is_an_answer_or_refused,
)
