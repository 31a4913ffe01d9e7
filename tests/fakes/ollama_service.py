"""What Ollama answers, as its documentation shows it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.llm_server import JSON, Call, Reply

Json = dict[str, object]

NDJSON = "application/x-ndjson"


def ndjson(*lines: Json) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def lines(text: str, calls: Sequence[Call] = (), *, thinking: str = "") -> list[Json]:
    """A whole answer: thinking and text in pieces, then each call in a line of its own."""
    said: list[Json] = [{"content": "", "thinking": piece} for piece in _cut(thinking)]
    said += [{"content": piece} for piece in _cut(text)]
    said += [{"content": "", "tool_calls": [_call(call)]} for call in calls]
    return [*(_line(message) for message in said), done()]


def done(reason: str = "stop", sent: int = 127, written: int = 15) -> Json:
    """The last line, with the counts."""
    counted: Json = {"prompt_eval_count": sent, "eval_count": written, "total_duration": 5_000_000}
    return {**_line({"content": ""}), "done": True, "done_reason": reason, **counted}


def whole(text: str, calls: Sequence[Call] = ()) -> bytes:
    """The same as one document."""
    message: Json = {"role": "assistant", "content": text}
    message["tool_calls"] = [_call(call) for call in calls]
    return json.dumps({**done(), "message": message}).encode()


def failed(status: int, message: str) -> Reply:
    """An error in the shape of the documentation."""
    return Reply(json.dumps({"error": message}).encode(), status, JSON)


def streamed(text: str = "", *calls: Call, **more: object) -> Reply:
    return replace(Reply(ndjson(*lines(text, calls)), content_type=NDJSON), **more)


def _line(message: Json) -> Json:
    said = {"role": "assistant", **message}
    return {"model": "fake", "created_at": "2026-11-20T19:26:39Z", "message": said, "done": False}


def _call(call: Call) -> Json:
    return {"function": {"name": call.name, "arguments": json.loads(call.arguments)}}


def _cut(text: str, piece_chars: int = 4) -> list[str]:
    return [text[at : at + piece_chars] for at in range(0, len(text), piece_chars)]
