"""Relay of `barnacle mcp serve`, with a gateway that asks before it acts."""

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent.cli.mcp_serve import MAX_AT_ONCE, GatewayPlace, McpRelay

# Longer than anything here takes; without the answer it passes
_ASKED_S = 20.0


class AskingGateway(ThreadingHTTPServer):
    """Answers a call when its person's form has come back."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_allowed = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: AskingGateway

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "method" not in message:
            self.server.is_allowed.set()
            self._say(202, b"")
            return
        said = "done" if self.server.is_allowed.wait(_ASKED_S) else "nobody answered"
        self._say(200, json.dumps({"id": message["id"], "result": said}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _say(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def gateway() -> Iterator[AskingGateway]:
    with AskingGateway() as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        yield made
        made.shutdown()
        serving.join()


def test_an_answer_of_the_person_does_not_wait_for_the_calls_that_wait_for_it(
    gateway: AskingGateway,
) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call"} for number in range(MAX_AT_ONCE)
    ]
    answer = {"jsonrpc": "2.0", "id": "form", "result": {"action": "accept"}}
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in (*calls, answer))
    out = io.BytesIO()
    McpRelay(GatewayPlace(port=gateway.server_port), "token", out).run(io.BytesIO(lines))
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert sorted(one["id"] for one in told) == [one["id"] for one in calls]
    assert {one["result"] for one in told} == {"done"}
