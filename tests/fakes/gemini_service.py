"""What Gemini answers, as its documentation shows it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.llm_server import JSON, Call, Reply

Json = dict[str, object]

SIGNATURE = "c2lnbmVk"
USAGE: Json = {
    "promptTokenCount": 127,
    "cachedContentTokenCount": 100,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 10,
    "totalTokenCount": 142,
}


def sse(*chunks: Json) -> bytes:
    """Events as the service sends them: there is no last one that says so."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def chunks(text: str, calls: Sequence[Call] = (), *, signed: bool = False) -> list[Json]:
    """A whole answer: text in pieces, then calls, of which the first is signed."""
    parts: list[Json] = [{"text": text[at : at + 4]} for at in range(0, len(text), 4)]
    for place, call in enumerate(calls):
        part = _part(call)
        parts.append({**part, "thoughtSignature": SIGNATURE} if signed and not place else part)
    said = [chunk(part) for part in parts]
    return [*said, {**chunk({"text": ""}, "STOP"), "usageMetadata": USAGE}]


def chunk(part: Json, reason: str = "") -> Json:
    """An event with one part, and why the answer ends if it does."""
    candidate: Json = {"content": {"parts": [part], "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    counted = {"promptTokenCount": 127, "totalTokenCount": 127}
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": "gemini-fake-001"}


def whole(text: str, calls: Sequence[Call] = ()) -> bytes:
    """The same as one document, which is an array where no stream of events is asked for."""
    return json.dumps(chunks(text, calls)).encode()


def failed(status: int, name: str, message: str, *details: Json) -> Reply:
    """An error in the shape of the documentation."""
    error: Json = {"code": status, "message": message, "status": name}
    if details:
        error["details"] = list(details)
    return Reply(json.dumps({"error": error}).encode(), status, JSON)


def asks_to_wait(delay: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def because(reason: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}


def streamed(text: str = "", *calls: Call, **more: object) -> Reply:
    return replace(Reply(sse(*chunks(text, calls))), **more)


def _part(call: Call) -> Json:
    arguments = json.loads(call.arguments)
    return {"functionCall": {"name": call.name, "args": arguments, "id": call.call_id}}
