"""Streams of Anthropic messages as the documentation shows them."""

import json
from collections.abc import Sequence

from tests.fakes.llm_server import Call

Json = dict[str, object]

USAGE: Json = {"input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}


def sse(*events: Json) -> bytes:
    """Events with their names, as the service sends them."""
    return b"".join(
        b"event: "
        + str(event["type"]).encode()
        + b"\ndata: "
        + json.dumps(event).encode()
        + b"\n\n"
        for event in events
    )


def events(text: str, calls: Sequence[Call] = (), *, thinking: str = "") -> list[Json]:
    """A whole answer: thinking, then text, then calls, each cut into pieces."""
    blocks: list[list[Json]] = []
    if thinking:
        begun: Json = {"type": "thinking", "thinking": "", "signature": ""}
        added = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(thinking)]
        blocks.append([begun, *added, {"type": "signature_delta", "signature": "c2lnbmVk"}])
    if text:
        added = [{"type": "text_delta", "text": piece} for piece in _cut(text)]
        blocks.append([{"type": "text", "text": ""}, *added])
    for call in calls:
        begun = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        added = [{"type": "input_json_delta", "partial_json": p} for p in _cut(call.arguments)]
        blocks.append([begun, *added])
    stop = "tool_use" if calls else "end_turn"
    return [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "claude-fake",
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {**USAGE, "output_tokens": 1},
            },
        },
        {"type": "ping"},
        *(event for index, block in enumerate(blocks) for event in _block(index, block)),
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 15}},
        {"type": "message_stop"},
    ]


def whole(text: str, calls: Sequence[Call] = ()) -> bytes:
    """The same as one document."""
    content: list[Json] = [{"type": "text", "text": text}]
    content += [
        {
            "type": "tool_use",
            "id": call.call_id,
            "name": call.name,
            "input": json.loads(call.arguments),
        }
        for call in calls
    ]
    stop = "tool_use" if calls else "end_turn"
    message = {"type": "message", "model": "claude-fake", "content": content, "stop_reason": stop}
    return json.dumps({**message, "usage": {**USAGE, "output_tokens": 15}}).encode()


def _block(index: int, block: list[Json]) -> list[Json]:
    begun, *added = block
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in added),
        {"type": "content_block_stop", "index": index},
    ]


def _cut(text: str, piece_chars: int = 7) -> list[str]:
    return [text[at : at + piece_chars] for at in range(0, len(text), piece_chars)]
