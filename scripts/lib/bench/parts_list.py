"""The parts whose memory is measured: their configuration, and how each is used once."""

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.setup import ROOT
from tests.fakes.chat_process import chat_environ

_NOBODY = "127.0.0.1:1"
_LIMIT_S = 60.0
_GATEWAY = "[gateway]"


@dataclass(frozen=True)
class Place:
    """Folder of an agent at work, with the ports of a broker and of its own."""

    folder: Path
    broker_port: int
    port: int

    def barnacle(self, *words: str) -> str:
        """Run a command beside the agent; return its output."""
        config = (self.folder / "barnacle.toml").read_text()
        done = subprocess.run(
            [sys.executable, "-m", "agent.cli.main", *words],
            env=chat_environ(self.folder, config),
            cwd=ROOT,
            check=True,
            timeout=_LIMIT_S,
            capture_output=True,
            text=True,
        )
        return done.stdout


@dataclass(frozen=True)
class Part:
    """Part of the agent that an owner may add.

    Args:
        config: added to that of the part below; {broker} and {port} are numbers of ports.
        over: the part that it stands on, whose memory is not its own.
        use: uses it once; `after` says so in the table.
    """

    name: str
    config: str = ""
    over: str = "nothing configured"
    use: Callable[[Place], None] | None = None
    after: str = ""

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.casefold())


def _token(place: Place) -> str:
    code = json.loads(place.barnacle("pair", "--role", "user", "--name", "bench", "--json"))["code"]
    return str(_asked(place, "/pair", {"code": code})["token"])


def _asked(place: Place, path: str, body: object, token: str = "") -> dict[str, object]:
    line = http.client.HTTPConnection("127.0.0.1", place.port, timeout=_LIMIT_S)
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    line.request("POST", path, json.dumps(body), headers if token else {})
    answer = line.getresponse()
    told: dict[str, object] = json.loads(answer.read())
    assert answer.status == http.client.OK, told
    return told


def _completed(place: Place) -> None:
    said = [{"role": "user", "content": "what time is it?"}]
    body = {"model": "barnacle-user", "messages": said}
    _asked(place, "/v1/chat/completions", body, _token(place))


def _called(place: Place) -> None:
    params = {"name": "time_now", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    _asked(place, "/mcp", body, _token(place))


def _heard(place: Place) -> None:
    place.barnacle("pair", "--wyoming", "127.0.0.1", "--role", "guest")
    said = json.dumps({"text": "what time is it?", "language": "en"}).encode()
    head = json.dumps({"type": "transcript", "data_length": len(said)}).encode()
    with socket.create_connection(("127.0.0.1", place.port), _LIMIT_S) as line:
        line.sendall(head + b"\n" + said)
        assert b"handled" in line.makefile("rb").readline()


NOTHING = Part("nothing configured")
_MQTT = '[channels.mqtt]\nurl = "mqtt://127.0.0.1:{broker}"\n'
_LISTEN = '[gateway]\nlisten = "127.0.0.1:{port}"\n'
_HOME = f"""[home_assistant]
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
# Each after the part that it stands on
PARTS = (
    NOTHING,
    Part("[channels.mqtt] with Home Assistant's discovery", _MQTT),
    Part("[home_assistant], its tools", _HOME),
    Part(
        "[wyoming], a conversation agent",
        '[wyoming]\nlisten = "127.0.0.1:{port}"\n',
        use=_heard,
        after="a sentence",
    ),
    Part("[devices], other devices of the owner", _DEVICES),
    Part(_GATEWAY, _LISTEN),
    Part(
        'assistants = ["openai"]',
        'assistants = ["openai"]\n',
        over=_GATEWAY,
        use=_completed,
        after="a turn",
    ),
    Part(
        'assistants = ["mcp"]', 'assistants = ["mcp"]\n', over=_GATEWAY, use=_called, after="a call"
    ),
)
