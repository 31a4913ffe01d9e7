"""A service with chat completions on loopback that answers what it is told to, faults included.

Written from the public documentation of the interface, not from recordings of a service. By hand:
`python -m tests.fakes.llm_server --obedient` prints the address to put into `provider.base_url`.
"""

import argparse
import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.fakes.raw_server import serving

Json = dict[str, object]
Cuttable = TypeVar("Cuttable", str, bytes)
# Whatever is asked, an answer of one kind or another
Respond = Callable[[Json], "Reply"]

EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
# A request is a conversation with tools; the fake has no reason to take more
MAX_REQUEST_BYTES = 4 * 1024 * 1024
_BY_HAND_PIECE_BYTES = 150
_BY_HAND_PAUSE_S = 0.01


@dataclass(frozen=True)
class Reply:
    """What goes over the wire.

    Args:
        piece_bytes: size of the pieces that the body is sent in; 0 sends it whole.
        pause_s: between two pieces.
        cut_after: so many bytes of the body, then the connection is torn down.
        stalls: after the body nothing comes, not even its end.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = EVENT_STREAM
    headers: tuple[tuple[str, str], ...] = ()
    piece_bytes: int = 0
    pause_s: float = 0.0
    cut_after: int | None = None
    stalls: bool = False


@dataclass(frozen=True)
class Call:
    """A tool call that the pretended model makes."""

    name: str
    arguments: str = "{}"
    call_id: str = "call_1"


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class LlmServer:
    """Serves until the block ends; `requests` holds what was asked."""

    respond: Respond
    requests: list[Recorded] = field(default_factory=list)
    base_url: str = ""
    # Set when a client closed its connection before it had everything
    was_abandoned: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except ConnectionError:
            self.was_abandoned.set()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = min(int(headers.get("content-length", 0)), MAX_REQUEST_BYTES)
        body = json.loads(await reader.readexactly(length) or b"{}")
        self.requests.append(Recorded(method, path, headers, body))
        reply = models("fake-model") if method == "GET" else self.respond(body)
        return await _send(reply, writer, reader)


@contextlib.asynccontextmanager
async def running(*script: Reply | Respond, port: int = 0) -> AsyncIterator[LlmServer]:
    """A server that gives these answers in order, the last one for ever."""
    left = list(script)

    def respond(request: Json) -> Reply:
        following = left.pop(0) if len(left) > 1 else left[0]
        return following if isinstance(following, Reply) else following(request)

    server = LlmServer(respond)
    async with serving(server.serve, port) as url:
        server.base_url = f"{url}/v1"
        yield server


def streamed(text: str = "", *calls: Call, piece_chars: int = 4, **more: object) -> Reply:
    """A stream with the text and the calls in pieces; `more` are fields of `Reply`."""
    return replace(Reply(body=sse(*events(text, calls, piece_chars))), **more)


def whole(text: str = "", *calls: Call, **more: object) -> Reply:
    """The same as one document."""
    message: Json = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    choice = {"index": 0, "message": message, "finish_reason": _reason(calls)}
    body = {"object": "chat.completion", "choices": [choice], "usage": _usage(text)}
    return replace(Reply(_bytes(body), content_type=JSON), **more)


def failed(status: int, message: str, **details: object) -> Reply:
    """An error in the shape of the documentation; `details` are code, type and param."""
    return Reply(_bytes({"error": {"message": message, **details}}), status, JSON)


def models(*names: str) -> Reply:
    data = [{"id": name, "object": "model"} for name in names]
    return Reply(_bytes({"object": "list", "data": data}), content_type=JSON)


def captive_portal() -> Reply:
    return Reply(b"<!doctype html><title>Welcome to Hotel WiFi</title>", content_type="text/html")


def events(text: str, calls: Sequence[Call] = (), piece_chars: int = 4) -> list[Json]:
    """The chunks of a stream, the token count in a last one without choices."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _cut(text, piece_chars)]
    for index, call in enumerate(calls):
        begun = {"index": index, **_call(replace(call, arguments=""))}
        deltas.append({"tool_calls": [begun]})
        for piece in _cut(call.arguments, piece_chars):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": _reason(calls)}]))
    return [*chunks, {**_chunk([]), "usage": _usage(text)}]


def sse(*chunks: Json, done: bool = True) -> bytes:
    """Chunks as a stream of events."""
    lines = [b"data: " + _bytes(chunk) + b"\n\n" for chunk in chunks]
    return b"".join([*lines, b"data: [DONE]\n\n" if done else b""])


async def _send(reply: Reply, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> bool:
    """Whether the connection can be used again."""
    lines = [f"HTTP/1.1 {reply.status} Whatever", f"content-type: {reply.content_type}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
    body = reply.body if reply.cut_after is None else reply.body[: reply.cut_after]
    for piece in _cut(body, reply.piece_bytes or len(body) or 1):
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(reply.pause_s)
    if reply.stalls:
        # Returns when the client hangs up
        await reader.read(1)
        raise ConnectionResetError
    if reply.cut_after is not None:
        writer.transport.abort()
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _chunk(choices: list[Json]) -> Json:
    return {"object": "chat.completion.chunk", "model": "fake-model", "choices": choices}


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _reason(calls: Sequence[Call]) -> str:
    return "tool_calls" if calls else "stop"


def _usage(text: str) -> Json:
    return {"prompt_tokens": 7, "completion_tokens": len(text), "total_tokens": 7 + len(text)}


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _cut(whole_text: Cuttable, size: int) -> list[Cuttable]:
    return [whole_text[at : at + size] for at in range(0, len(whole_text), size)]


async def _serve_by_hand(port: int, respond: Respond) -> None:
    async with running(respond, port=port) as server:
        print(server.base_url, flush=True)  # noqa: T201 - the one thing its caller waits for
        await asyncio.Event().wait()


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--obedient", action="store_true", help="use the tools that are offered")
    options = parser.parse_args()
    if options.obedient:
        from tests.fakes.obedient_model import obey  # noqa: PLC0415 - it imports this module
    model: Respond = obey if options.obedient else _echo
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_by_hand(options.port, lambda request: _slowly(model(request))))


def _echo(request: Json) -> Reply:
    messages = request.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    return streamed(f"You said: {last.get('content')}")


def _slowly(reply: Reply) -> Reply:
    """Such that it can be seen streaming."""
    return replace(reply, piece_bytes=_BY_HAND_PIECE_BYTES, pause_s=_BY_HAND_PAUSE_S)


if __name__ == "__main__":
    _main()
