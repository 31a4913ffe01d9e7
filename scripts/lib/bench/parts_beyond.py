"""Parts that reach others or lend the agent to them: each configured by an owner, and used once."""

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial

from scripts.lib.bench.parts_agent import PATIENCE_S, Configured, Home, Part, write
from scripts.lib.setup import ROOT
from tests.fakes import mosquitto
from tests.fakes.chat_process import chat_environ
from tests.fakes.irc_server import free_port

_NOBODY = "127.0.0.1:1"
_HOME_ASSISTANT = f"""[home_assistant]
base_url = "http://{_NOBODY}"
token = "token-of-a-bench"
[home_assistant.entities]
"light.*" = "actuate"
"""
_DEVICES = f"""[devices]
listen = "127.0.0.1:{{port}}"
[devices.others.greenhouse]
key = "{"k" * 43}"
address = "{_NOBODY}"
"""
_GATEWAY = '[gateway]\nlisten = "127.0.0.1:{port}"\n'
_WYOMING = '[wyoming]\nlisten = "127.0.0.1:{port}"\n'

# Uses a part that listens at a port, once
_Use = Callable[[Home, int], None]


@contextlib.asynccontextmanager
async def _listening(lines: str, use: _Use | None, _home: Home) -> AsyncIterator[Configured]:
    port = free_port()
    configured = lines.format(port=port)
    if use is None:
        yield Configured(write, configured)
    else:
        yield Configured(lambda home: asyncio.to_thread(use, home, port), configured)


@contextlib.asynccontextmanager
async def _with_a_broker(home: Home) -> AsyncIterator[Configured]:
    with mosquitto.running(home.folder) as broker:
        yield Configured(write, f'[channels.mqtt]\nurl = "mqtt://127.0.0.1:{broker.port}"\n')


@contextlib.asynccontextmanager
async def _with_a_house(_home: Home) -> AsyncIterator[Configured]:
    yield Configured(write, _HOME_ASSISTANT)


def _barnacle(home: Home, *words: str) -> str:
    """Run a command beside the agent; return its output."""
    config = (home.folder / "barnacle.toml").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "agent.cli.main", *words],
        env=chat_environ(home.folder, config),
        cwd=ROOT,
        check=True,
        timeout=PATIENCE_S,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _completed(home: Home, port: int) -> None:
    said = [{"role": "user", "content": "what time is it?"}]
    body = {"model": "barnacle-user", "messages": said}
    _asked(port, "/v1/chat/completions", body, _token(home, port))


def _called(home: Home, port: int) -> None:
    params = {"name": "time_now", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    _asked(port, "/mcp", body, _token(home, port))


def _token(home: Home, port: int) -> str:
    paired = _barnacle(home, "pair", "--role", "user", "--name", "bench", "--json")
    return str(_asked(port, "/pair", {"code": json.loads(paired)["code"]})["token"])


def _asked(port: int, path: str, body: object, token: str = "") -> dict[str, object]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    line.request("POST", path, json.dumps(body), headers if token else {})
    answer = line.getresponse()
    told: dict[str, object] = json.loads(answer.read())
    assert answer.status == http.client.OK, told
    return told


def _heard(home: Home, port: int) -> None:
    _barnacle(home, "pair", "--wyoming", "127.0.0.1", "--role", "guest")
    said = json.dumps({"text": "what time is it?", "language": "en"}).encode()
    head = json.dumps({"type": "transcript", "data_length": len(said)}).encode()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as line:
        line.sendall(head + b"\n" + said)
        assert b"handled" in line.makefile("rb").readline()


def _assistants(name: str, use: _Use) -> Part:
    lines = f'{_GATEWAY}assistants = ["{name}"]\n'
    told = {"openai": "a completion", "mcp": "a call of a tool"}[name]
    return Part(f'assistants = ["{name}"], {told}', partial(_listening, lines, use), over=GATEWAY)


GATEWAY = Part("[gateway]", partial(_listening, _GATEWAY, None))
PARTS = (
    Part(
        "[channels.mqtt] with Home Assistant's discovery",
        _with_a_broker,
        mosquitto.unavailable_reason() or "",
    ),
    Part("[home_assistant], its tools", _with_a_house),
    Part("[wyoming], a conversation agent, a sentence", partial(_listening, _WYOMING, _heard)),
    Part("[devices], other devices of the owner", partial(_listening, _DEVICES, None)),
    GATEWAY,
    _assistants("openai", _completed),
    _assistants("mcp", _called),
)
