"""`barnacle mcp serve`: the agent's tools for a program that starts its servers itself.

Each line of the input is a message for the running agent's gateway, with the token of a paired
caller; each line of the output is an answer. Nothing is decided here.
"""

import http.client
import json
import os
import socket
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO
from urllib.parse import urlsplit

from msgspec import Struct

from agent.channels.credentials import find_secret
from agent.cli import configuration, exits
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.address import SOCKET_NAME
from agent.settings import Paths, Settings

PATH = "/mcp"
TOKEN = "mcp_token"  # noqa: S105 - the name of one
# The gateway ends an answer after 15 minutes
ANSWER_TIMEOUT_S = 960.0
# Answers that are under way when the program closes the input
GRACE_S = 10.0
# As the gateway takes at once of one caller, of what its person may be asked about
MAX_AT_ONCE = 8
_LONG = (b'"tools/call"', b'"resources/read"')
_CANCELLED = "notifications/cancelled"
# The gateway begins its answer to a call as soon as it has taken it
TAKEN_S = 5.0
_INTERNAL_ERROR = -32603
_SESSION = "mcp-session-id"
_ACCEPTED = 202
_OK = 200


class GatewayPlace(Struct, frozen=True):
    """Place of the gateway: a host and a port, or the path of a socket."""

    host: str = "localhost"
    port: int = 0
    path: str = ""

    def connected(self) -> http.client.HTTPConnection:
        """Return a connection that opens when it is used."""
        if self.path:
            return _UnixConnection(self.path)
        return http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_TIMEOUT_S)


class _UnixConnection(http.client.HTTPConnection):
    """Connection by a socket of this machine."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _RelayedCall:
    """Call of the program's, from the moment that it is read.

    Args:
        line: the message.
    """

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.known = _message(line).get("id")
        self.is_unwanted = False
        # Taken by the gateway, which knows it from then on, or not passed on at all
        self.is_settled = threading.Event()


class McpRelay:
    """Passes messages on, several calls at a time."""

    def __init__(self, place: GatewayPlace, token: str, out: BinaryIO) -> None:
        self._place = place
        self._token = token
        self._out = out
        self._writing = threading.Lock()
        self._places = threading.Semaphore(MAX_AT_ONCE)
        # Says whose the calls are, and that the program can put questions to its person; kept from
        # the greeting on
        self._session = ""
        self._calls: dict[object, _RelayedCall] = {}

    def run(self, lines: Iterable[bytes]) -> None:
        """Relay until the input ends."""
        workers: list[threading.Thread] = []
        for line in lines:
            if line.strip():
                worker = threading.Thread(target=self._way_of(line), daemon=True)
                workers = [*(one for one in workers if one.is_alive()), worker]
                worker.start()
        end_s = time.monotonic() + GRACE_S
        for worker in workers:
            worker.join(max(end_s - time.monotonic(), 0.0))

    def _way_of(self, line: bytes) -> Callable[[], None]:
        """Return what passes a message on; calls wait for a place, and nothing waits behind them.

        Each of them may wait for its person, whose answer comes as a message, too.
        """
        if any(method in line for method in _LONG):
            call = _RelayedCall(line)
            if isinstance(call.known, int | str):
                self._calls[call.known] = call
            return partial(self._in_turn, call)
        if _CANCELLED.encode() in line and (found := self._unwanted(line)):
            found.is_unwanted = True
            return partial(self._take_back, found, line)
        return partial(self._relay, line)

    def _in_turn(self, call: _RelayedCall) -> None:
        with self._places:
            if not call.is_unwanted:
                self._relay(call.line, call.is_settled)
        call.is_settled.set()
        if self._calls.get(call.known) is call:
            del self._calls[call.known]

    def _unwanted(self, line: bytes) -> _RelayedCall | None:
        params = _message(line).get("params")
        known = params.get("requestId") if isinstance(params, dict) else None
        return self._calls.get(known) if isinstance(known, int | str) else None

    def _take_back(self, call: _RelayedCall, line: bytes) -> None:
        """Tell the gateway, once it knows the call; one that waits for a place never goes there."""
        call.is_settled.wait(TAKEN_S)
        self._relay(line)

    def _relay(self, line: bytes, is_taken: threading.Event | None = None) -> None:
        try:
            for answer in self._answers(line, is_taken):
                with self._writing:
                    self._out.write(answer.strip() + b"\n")
                    self._out.flush()
        except (OSError, http.client.HTTPException) as err:
            self._fail(line, f"the agent's gateway did not answer ({err}): is the agent running?")

    def _answers(self, line: bytes, is_taken: threading.Event | None) -> Iterator[bytes]:
        connection = self._place.connected()
        try:
            connection.request("POST", PATH, line, self._headers())
            response = connection.getresponse()
            if is_taken is not None:
                is_taken.set()
            self._session = response.getheader(_SESSION, self._session)
            if response.status == _ACCEPTED:
                return
            if response.headers.get_content_type() == "text/event-stream":
                yield from _events(response)
            elif response.status == _OK:
                yield response.read()
            else:
                self._fail(line, _refusal(response))
        finally:
            connection.close()

    def _headers(self) -> dict[str, str]:
        return {
            "authorization": f"Bearer {self._token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **({_SESSION: self._session} if self._session else {}),
        }

    def _fail(self, line: bytes, text: str) -> None:
        """Answer a request with an error; a notification has no answer."""
        known = _message(line).get("id")
        if known is None:
            print(text, file=sys.stderr)
            return
        error = {"code": _INTERNAL_ERROR, "message": text}
        with self._writing:
            told = json.dumps({"jsonrpc": "2.0", "id": known, "error": error})
            self._out.write(told.encode() + b"\n")
            self._out.flush()


def run(arguments: Namespace) -> int:
    """Relay between this process's standard streams and the gateway."""
    settings, paths = configuration.load(arguments)
    token = find_secret(TOKEN, Secret(), arguments.token_file or "", os.environ).reveal()
    if not token:
        raise ConfigRefused(
            "no token: pair a caller with `barnacle pair --role user --name NAME`, fetch its token "
            "from the gateway's /pair, and name the file that holds it with --token-file"
        )
    relay = McpRelay(_place(arguments.url, settings, paths), token, sys.stdout.buffer)
    relay.run(sys.stdin.buffer)
    return exits.OK


def _place(url: str | None, settings: Settings, paths: Paths) -> GatewayPlace:
    if url:
        return _place_at(url)
    if settings.gateway is None:
        raise ConfigRefused('no [gateway] here: add one with assistants = ["mcp"], or give --url')
    listen = settings.gateway.listen
    if listen == "unix" or listen.startswith("/"):
        return GatewayPlace(path=str(paths.state_dir / SOCKET_NAME) if listen == "unix" else listen)
    host, _, port = listen.rpartition(":")
    return GatewayPlace(host.strip("[]"), int(port))


def _place_at(url: str) -> GatewayPlace:
    refusal = f"--url {url}: expected http://HOST:PORT"
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        port = parts.port or http.client.HTTP_PORT
    except ValueError as err:
        raise ConfigRefused(refusal) from err
    if parts.scheme not in {"", "http"} or not parts.hostname:
        raise ConfigRefused(refusal)
    return GatewayPlace(parts.hostname, port)


def _message(line: bytes) -> dict[str, object]:
    """Return the message in a line; an empty one for anything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the messages of a stream; comments only show that it is alive."""
    for line in response:
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:")


def _refusal(response: http.client.HTTPResponse) -> str:
    """Return why the gateway refused."""
    try:
        error = json.loads(response.read())["error"]
        told = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        told = "no reason"
    return f"the agent's gateway refused ({response.status}): {told}"
