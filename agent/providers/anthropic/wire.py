"""Anthropic messages as a wire format: typed events, thinking that is sent back in tool loops."""

import json

import msgspec

from agent.providers import failures, service_json
from agent.providers.answer import AnswerBuilder, Note
from agent.providers.anthropic import body
from agent.providers.anthropic.body import AnthropicDialect
from agent.providers.base import Capabilities, ChatRequest, StopReason, Usage
from agent.providers.wire import Sampling, ToldError, WireFormat, WireRequest


class AnthropicTokenCount(msgspec.Struct, frozen=True):
    """Counts of the service; cached tokens are not among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class AnthropicBlock(msgspec.Struct, frozen=True):
    """A part of an answer, or its beginning."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, object] | None = None
    thinking: str | None = None
    signature: str | None = None
    # Of thinking that is not shown
    data: str | None = None


class AnthropicDelta(msgspec.Struct, frozen=True):
    """Addition to a block, or to the message."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class AnthropicMessage(msgspec.Struct, frozen=True):
    """A whole answer, or its head."""

    model: str = ""
    content: list[AnthropicBlock] | None = None
    stop_reason: str | None = None
    usage: AnthropicTokenCount | None = None


class AnthropicEvent(msgspec.Struct, frozen=True):
    """One event of a stream, or a whole answer, which is of the type `message`."""

    type: str = ""
    index: int = 0
    message: AnthropicMessage | None = None
    content_block: AnthropicBlock | None = None
    delta: AnthropicDelta | None = None
    usage: AnthropicTokenCount | None = None
    error: object = None
    # Of a whole answer
    model: str = ""
    content: list[AnthropicBlock] | None = None
    stop_reason: str | None = None


class AnthropicModel(msgspec.Struct, frozen=True):
    """An entry of the list of models."""

    id: str


class AnthropicModelList(msgspec.Struct, frozen=True):
    """The models of a service."""

    data: list[AnthropicModel]


# What every current model of the family can be shown
CONTEXT_TOKENS = 200_000

_FULL = "model_context_window_exceeded"
_STOPS = {
    "max_tokens": StopReason.LENGTH,
    _FULL: StopReason.LENGTH,
    "tool_use": StopReason.TOOLS,
    "refusal": StopReason.REFUSED,
}
_THINKING = frozenset({"thinking", "redacted_thinking"})


class AnthropicWire(WireFormat[AnthropicDialect]):
    """`POST messages`, streamed."""

    name = "anthropic"

    def first_dialect(self, host: str, model: str) -> AnthropicDialect:
        return AnthropicDialect()

    def other_dialect(
        self, dialect: AnthropicDialect, refusal: failures.ServiceRefusal
    ) -> AnthropicDialect | None:
        return dialect.after_refusal(failures.named_parameter(refusal.body))

    def write(
        self, request: ChatRequest, sampling: Sampling, dialect: AnthropicDialect
    ) -> WireRequest:
        return WireRequest("messages", body.encode(request, sampling, dialect, self.name))

    def read(self, event: str, answer: AnswerBuilder) -> str:
        return _take(service_json.decode(event, AnthropicEvent), answer)

    def read_models(self, body: str) -> list[str]:
        return [model.id for model in service_json.decode(body, AnthropicModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True,
            streaming=True,
            vision=True,
            caching=True,
            thinking=True,
            context_tokens=CONTEXT_TOKENS,
        )


def _take(event: AnthropicEvent, answer: AnswerBuilder) -> str:
    match event.type:
        case "error":
            raise ToldError(event.error)
        case "message":
            return _take_whole(event, answer)
        case "message_start":
            _count(answer, event.message.usage if event.message else None)
        case "content_block_start":
            return _begin(event.index, event.content_block or AnthropicBlock(), answer)
        case "content_block_delta":
            return _add(event.index, event.delta or AnthropicDelta(), answer)
        case "message_delta":
            _count(answer, event.usage)
            if event.delta is not None and event.delta.stop_reason:
                _end(event.delta.stop_reason, answer)
        case "message_stop":
            _send_back(answer)
            answer.close()
    return ""


def _take_whole(event: AnthropicEvent, answer: AnswerBuilder) -> str:
    _count(answer, event.usage)
    text = ""
    for index, block in enumerate(event.content or ()):
        text += _begin(index, block, answer)
    _end(event.stop_reason or "", answer)
    _send_back(answer)
    return text


def _end(reason: str, answer: AnswerBuilder) -> None:
    if reason == _FULL:
        answer.fill()
    answer.end(_STOPS.get(reason, StopReason.END))


def _begin(index: int, block: AnthropicBlock, answer: AnswerBuilder) -> str:
    match block.type:
        case "text":
            note = Note("text", text=block.text or "")
        case "thinking":
            note = Note("thinking", thinking=block.thinking or "", signature=block.signature or "")
            answer.think(block.thinking or "")
        case "redacted_thinking":
            note = Note("redacted_thinking", data=block.data or "")
        case "tool_use":
            # Arguments stand here in a whole answer, and come in pieces in a stream
            whole = _json(block.input) if block.input else ""
            note = Note("tool_use", id=block.id or "", name=block.name or "", input=whole)
            answer.add_call(index, block.id or "", block.name or "", whole)
        case _:
            # Blocks of tools that the service runs itself were not asked for
            return ""
    answer.notes[index] = note
    return answer.add_text(block.text or "")


def _add(index: int, delta: AnthropicDelta, answer: AnswerBuilder) -> str:
    note = answer.notes.get(index)
    if note is None:
        return ""
    for name, piece in (
        ("text", delta.text),
        ("thinking", delta.thinking),
        ("signature", delta.signature),
        ("input", delta.partial_json),
    ):
        if piece and note.has(name):
            answer.count_bytes(piece)
            note.add(name, piece)
            if name == "thinking":
                answer.think(piece)
    if delta.partial_json and note.has("input"):
        answer.add_call(index, "", "", delta.partial_json)
    return answer.add_text(delta.text or "")


def _send_back(answer: AnswerBuilder) -> None:
    """Thinking is demanded back, unchanged, with the results of the calls that it led to."""
    notes = [answer.notes[index] for index in sorted(answer.notes)]
    if _THINKING.isdisjoint(note.kind for note in notes):
        return
    # Between thoughts and a call there is often a text of two line ends, which is not taken back
    answer.send_back(
        _json([_said(note) for note in notes if note.kind != "text" or note.text("text").strip()])
    )


def _said(note: Note) -> dict[str, object]:
    said: dict[str, object] = {"type": note.kind}
    match note.kind:
        case "tool_use":
            arguments = service_json.object_in(note.text("input"))
            return {**said, "id": note.text("id"), "name": note.text("name"), "input": arguments}
        case "thinking":
            said |= {"thinking": note.text("thinking"), "signature": note.text("signature")}
        case "redacted_thinking":
            said["data"] = note.text("data")
        case _:
            said["text"] = note.text("text")
    return said


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _count(answer: AnswerBuilder, count: AnthropicTokenCount | None) -> None:
    """The end repeats some of what the beginning counted, and adds to it."""
    if count is None:
        return
    before = answer.usage
    read = max(count.cache_read_input_tokens or before.cached_tokens, 0)
    written = max(count.cache_creation_input_tokens or before.cache_write_tokens, 0)
    fresh = before.input_tokens - before.cached_tokens - before.cache_write_tokens
    sent = max(fresh if count.input_tokens is None else count.input_tokens, 0)
    output = max(before.output_tokens if count.output_tokens is None else count.output_tokens, 0)
    answer.count(Usage(sent + read + written, output, read, written))
