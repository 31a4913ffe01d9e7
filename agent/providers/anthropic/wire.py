"""Anthropic messages as a wire format: typed events, thinking that is sent back in tool loops."""

import json

from agent.providers import edge, failures
from agent.providers.answer import Answer, Note
from agent.providers.anthropic import body, shape
from agent.providers.anthropic.body import Manner
from agent.providers.base import Capabilities, ChatRequest, Stop, Usage
from agent.providers.wire import Post, Sampling, ToldError, Wire

# What every current model of the family can be shown
CONTEXT_TOKENS = 200_000

_STOPS = {
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "tool_use": Stop.TOOLS,
    "refusal": Stop.REFUSED,
}
_THINKING = frozenset({"thinking", "redacted_thinking"})


class AnthropicWire(Wire[Manner]):
    """`POST messages`, streamed."""

    name = "anthropic"

    def first_manner(self, host: str, model: str) -> Manner:
        return Manner()

    def other_manner(self, manner: Manner, refusal: failures.Refusal) -> Manner | None:
        return manner.after_refusal(failures.named_parameter(refusal.body))

    def write(self, request: ChatRequest, sampling: Sampling, manner: Manner) -> Post:
        return Post("messages", body.encode(request, sampling, manner, self.name))

    def read(self, event: str, answer: Answer) -> str:
        return _take(edge.decode(event, shape.Event), answer)

    def read_models(self, body: str) -> list[str]:
        return [model.id for model in edge.decode(body, shape.ModelList).data]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True,
            streaming=True,
            vision=True,
            caching=True,
            thinking=True,
            context_tokens=CONTEXT_TOKENS,
        )


def _take(event: shape.Event, answer: Answer) -> str:
    match event.type:
        case "error":
            raise ToldError(event.error)
        case "message":
            return _take_whole(event, answer)
        case "message_start":
            _count(answer, event.message.usage if event.message else None)
        case "content_block_start":
            return _begin(event.index, event.content_block or shape.Block(), answer)
        case "content_block_delta":
            return _add(event.index, event.delta or shape.Delta(), answer)
        case "content_block_stop":
            _finish(event.index, answer)
        case "message_delta":
            _count(answer, event.usage)
            if event.delta is not None and event.delta.stop_reason:
                answer.end(_STOPS.get(event.delta.stop_reason, Stop.END))
        case "message_stop":
            _send_back(answer)
            answer.close()
    return ""


def _take_whole(event: shape.Event, answer: Answer) -> str:
    _count(answer, event.usage)
    text = ""
    for index, block in enumerate(event.content or ()):
        text += _begin(index, block, answer)
        _finish(index, answer)
    answer.end(_STOPS.get(event.stop_reason or "", Stop.END))
    _send_back(answer)
    return text


def _begin(index: int, block: shape.Block, answer: Answer) -> str:
    match block.type:
        case "text":
            note = Note("text", text=block.text or "")
        case "thinking":
            note = Note("thinking", thinking=block.thinking or "", signature=block.signature or "")
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


def _add(index: int, delta: shape.Delta, answer: Answer) -> str:
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
    if delta.partial_json and note.has("input"):
        answer.add_call(index, "", "", delta.partial_json)
    return answer.add_text(delta.text or "")


def _finish(index: int, answer: Answer) -> None:
    note = answer.notes.get(index)
    if note is not None and note.kind == "tool_use" and not note.text("input"):
        # A tool without arguments may come with no piece of them at all
        note.add("input", "{}")
        answer.add_call(index, "", "", "{}")


def _send_back(answer: Answer) -> None:
    """Thinking is demanded back, unchanged, with the results of the calls that it led to."""
    notes = [answer.notes[index] for index in sorted(answer.notes)]
    if _THINKING.isdisjoint(note.kind for note in notes):
        return
    answer.send_back(
        _json([_said(note) for note in notes if note.kind != "text" or note.text("text")])
    )


def _said(note: Note) -> dict[str, object]:
    said: dict[str, object] = {"type": note.kind}
    match note.kind:
        case "tool_use":
            arguments = edge.object_in(note.text("input"))
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


def _count(answer: Answer, count: shape.TokenCount | None) -> None:
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
