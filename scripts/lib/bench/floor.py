"""Started as a process of its own: the least that a bot can be, with nothing but Python's library.

It polls, asks the model service with a stream, looks the time up where that wants a tool, and sends
the answer. It keeps nothing, checks nothing and remembers nothing: what is left is the HTTP calls.
"""

import http.client
import json
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

_POLL_S = 25
_TIMEOUT_S = 60.0
# As many messages as our own agent's history holds in a short conversation
_MAX_MESSAGES = 40


def main(arguments: Sequence[str]) -> int:
    """Answer until killed; the arguments are the bot's address and the model service's."""
    bot, model = arguments
    platform, service = _Connection(bot), _Connection(model)
    said: list[dict[str, object]] = []
    offset = 0
    while True:
        wanted = {"offset": offset, "timeout": _POLL_S, "limit": 100}
        for update in platform.call("getUpdates", wanted)["result"]:
            offset = update["update_id"] + 1
            said.append({"role": "user", "content": update["message"]["text"]})
            text = _answer(service, said)
            del said[:-_MAX_MESSAGES]
            platform.call("sendMessage", {"chat_id": update["message"]["chat"]["id"], "text": text})


class _Connection:
    """One connection that is kept, to one address."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._path = parts.path
        self._line = http.client.HTTPConnection(
            str(parts.hostname), parts.port, timeout=_TIMEOUT_S, blocksize=65536
        )

    def post(self, name: str, content: object) -> http.client.HTTPResponse:
        body = json.dumps(content).encode()
        self._line.request(
            "POST", f"{self._path}/{name}", body, {"content-type": "application/json"}
        )
        return self._line.getresponse()

    def call(self, name: str, content: object) -> dict[str, list[dict[str, dict[str, str]]]]:
        told: dict[str, list[dict[str, dict[str, str]]]] = json.loads(
            self.post(name, content).read()
        )
        return told


def _answer(service: _Connection, said: list[dict[str, object]]) -> str:
    while True:
        text, name = _streamed(service, said)
        if not name:
            said.append({"role": "assistant", "content": text})
            return text
        said.append({"role": "assistant", "content": None, "tool_calls": [_called(name)]})
        said.append({"role": "tool", "tool_call_id": "call_1", "content": time.ctime()})


def _streamed(service: _Connection, said: list[dict[str, object]]) -> tuple[str, str]:
    """Return the text and the name of the tool that is called."""
    text, name = "", ""
    wanted = {"model": "fake", "stream": True, "messages": said}
    with service.post("chat/completions", wanted) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                text += delta.get("content") or ""
                for call in delta.get("tool_calls") or ():
                    name = name or call["function"].get("name", "")
    return text, name


def _called(name: str) -> dict[str, object]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
