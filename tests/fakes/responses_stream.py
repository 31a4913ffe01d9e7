"""Streams of OpenAI Responses as the documentation shows them."""

import json
from collections.abc import Sequence

from tests.fakes.anthropic_stream import sse
from tests.fakes.llm_server import Call

Json = dict[str, object]

USAGE: Json = {
    "input_tokens": 70,
    "output_tokens": 15,
    "input_tokens_details": {"cached_tokens": 60},
}
THOUGHTS: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}

__all__ = ["THOUGHTS", "USAGE", "events", "response", "sse", "whole"]


def response(text: str, calls: Sequence[Call] = (), **more: object) -> Json:
    output: list[Json] = [THOUGHTS]
    if text:
        output.append(
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [_words(text)],
            }
        )
    output += [_call(call, call.arguments) for call in calls]
    whole: Json = {"object": "response", "status": "completed", "output": output, "usage": USAGE}
    return {**whole, **more}


def whole(text: str, calls: Sequence[Call] = ()) -> bytes:
    """A whole answer as one document."""
    return json.dumps(response(text, calls)).encode()


def events(text: str, calls: Sequence[Call] = ()) -> list[Json]:
    """A whole answer: thoughts, text and calls, each item begun, filled and done."""
    said: list[Json] = [
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": THOUGHTS},
        {"type": "response.output_item.done", "output_index": 0, "item": THOUGHTS},
    ]
    if text:
        said.append(
            {
                "type": "response.output_item.added",
                "output_index": 1,
                "item": {"type": "message", "content": []},
            }
        )
        said += [
            {"type": "response.output_text.delta", "output_index": 1, "delta": piece}
            for piece in _cut(text)
        ]
        said.append({"type": "response.output_text.done", "output_index": 1, "text": text})
    for index, call in enumerate(calls, start=2):
        said.append(
            {"type": "response.output_item.added", "output_index": index, "item": _call(call, "")}
        )
        said += [
            {
                "type": "response.function_call_arguments.delta",
                "output_index": index,
                "delta": piece,
            }
            for piece in _cut(call.arguments)
        ]
        said.append(
            {
                "type": "response.output_item.done",
                "output_index": index,
                "item": _call(call, call.arguments),
            }
        )
    return [*said, {"type": "response.completed", "response": response(text, calls)}]


def _words(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _call(call: Call, arguments: str) -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{call.call_id}",
        "call_id": call.call_id,
        "name": call.name,
        "arguments": arguments,
    }


def _cut(text: str, piece_chars: int = 7) -> list[str]:
    return [text[at : at + piece_chars] for at in range(0, len(text), piece_chars)]
