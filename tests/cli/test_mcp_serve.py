"""Relay of `barnacle mcp serve`, with a gateway that asks before it acts."""

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.cli.mcp_serve import MAX_AT_ONCE, GatewayPlace, McpRelay
from tests.waits import wait_until_sync

# Longer than anything here takes; without the answer it passes
_ASKED_S = 20.0


class AskingGateway(ThreadingHTTPServer):
    """Answers a call when its person's form has come back."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_allowed = threading.Event()
        self.heard: list[dict[str, object]] = []


class _Handler(BaseHTTPRequestHandler):
    server: AskingGateway

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard.append(message)
        if message.get("method") == "notifications/cancelled":
            self._say(202, b"")
            return
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


def test_a_call_that_waits_for_a_place_is_not_passed_on_once_it_is_taken_back(
    gateway: AskingGateway,
) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
        for number in range(MAX_AT_ONCE + 1)
    ]
    params = {"requestId": MAX_AT_ONCE}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    answer = {"jsonrpc": "2.0", "id": "form", "result": {"action": "accept"}}
    relay = McpRelay(GatewayPlace(port=gateway.server_port), "token", out := io.BytesIO())

    def lines() -> Iterator[bytes]:
        # The others have the places before the last one comes
        for one in calls[:MAX_AT_ONCE]:
            yield json.dumps(one).encode() + b"\n"
        wait_until_sync(lambda: len(gateway.heard) == MAX_AT_ONCE)
        for late in (calls[-1], cancelled, answer):
            yield json.dumps(late).encode() + b"\n"

    relay.run(lines())
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert sorted(one["id"] for one in told) == list(range(MAX_AT_ONCE))
    assert MAX_AT_ONCE not in [one.get("id") for one in gateway.heard]


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "127.0.0.1:port", "http://[::1"])
def test_an_address_without_a_port_that_there_can_be_is_one_sentence(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    words = ["mcp", "serve", "--token-file", str(token), "--url", url]
    assert main([*words, "--state-dir", str(tmp_path / "state")]) == exits.USAGE
    assert f"--url {url}: expected http://HOST:PORT" in capsys.readouterr().err
