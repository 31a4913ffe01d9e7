"""The pretended signal-cli daemon beside the real one: the same requests, both answers, our words.

The real one has no account and needs no network; what only Signal's servers could answer is not
asked. What differs is a mistake in `tests/fakes/signal_daemon.py`.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.channels.signal.accounts import find_account
from agent.channels.signal.client import SignalClient
from agent.errors import ChannelError, NetworkError
from agent.net.http import HttpClient, HttpRequest
from scripts.lib.signal_cli import running_signal_cli
from tests.fakes.signal_daemon import SignalDaemon, running

# Two signs of life of the real daemon
KEEP_ALIVE_LIMIT_S = 40.0
MAX_SHOWN_CHARS = 110
_JSON = {"content-type": "application/json"}
_NOBODY = "+4915112345678"
# What only a parser of one make says
_PARSERS_WORDS = re.compile(r'"message":"(Unexpected character|Expecting)[^"]*(?:\\"[^"]*)*"')


@dataclass(frozen=True, slots=True)
class Probe:
    """One request."""

    name: str
    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"


def call(method: str, **parameters: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()


PROBES = (
    Probe("check", "GET", "check"),
    Probe("check by POST", "POST", "check"),
    Probe("unknown path", "GET", "nothing"),
    Probe("rpc by GET", "GET", "rpc"),
    Probe("rpc, other content", "POST", "rpc", b"{}", "text/plain"),
    Probe("rpc, with a charset", "POST", "rpc", call("version"), "application/json; charset=utf-8"),
    Probe("version", "POST", "rpc", call("version")),
    Probe("bad JSON", "POST", "rpc", b"{bad"),
    Probe("empty body", "POST", "rpc"),
    Probe("no method", "POST", "rpc", b'{"jsonrpc":"2.0"}'),
    Probe("no id", "POST", "rpc", b'{"jsonrpc":"2.0","method":"version"}'),
    Probe("unknown method", "POST", "rpc", call("nope")),
    Probe("batch", "POST", "rpc", b"[" + call("version") + b"," + call("nope") + b"]"),
    Probe("no accounts", "POST", "rpc", call("listAccounts")),
    *(
        Probe(f"{method}, {told}", "POST", "rpc", call(method, **parameters))
        for method in ("send", "sendTyping", "sendReaction", "sendReceipt", "remoteDelete")
        for told, parameters in (("no account", {}), ("unknown account", {"account": _NOBODY}))
    ),
    Probe("getAttachment, no account", "POST", "rpc", call("getAttachment", id="a")),
    Probe("finishLink, no address", "POST", "rpc", call("finishLink", deviceLinkUri="x y")),
    Probe("events by POST", "POST", "events"),
    Probe("events, unknown account", "GET", f"events?account=%2B{_NOBODY[1:]}"),
)


def main(words: Sequence[str]) -> int:
    """Print the table; 1 where the two differ."""
    return asyncio.run(_compare(Path(words[0])))


async def _compare(installed: Path) -> int:
    http = HttpClient()
    fake = SignalDaemon(accounts=[], holds_headers=True)
    try:
        async with running_signal_cli(installed, http) as real_url, running(fake):
            differing = 0
            for name, ask in _questions(http):
                real, pretended = await asyncio.gather(ask(real_url), ask(fake.url))
                differing += not _show(name, real, pretended)
    finally:
        await http.aclose()
    print(f"\n{differing} of them differ" if differing else "\nall alike")
    return 1 if differing else 0


def _questions(http: HttpClient) -> list[tuple[str, Callable[[str], Awaitable[str]]]]:
    asked = [(probe.name, lambda url, probe=probe: _probed(http, url, probe)) for probe in PROBES]
    ours = [
        ("ours: is it there", lambda url: _ours(SignalClient(url, "", http), "check")),
        ("ours: which account", lambda url: _ours(SignalClient(url, "", http), "account")),
        ("ours: send", lambda url: _ours(SignalClient(url, _NOBODY, http), "send")),
        ("ours: events", lambda url: _ours(SignalClient(url, _NOBODY, http), "events")),
        ("first sign of life", lambda url: _first_byte(http, url)),
    ]
    return [*asked, *ours]


def _show(name: str, real: str, pretended: str) -> bool:
    is_alike = _comparable(real) == _comparable(pretended)
    print(f"{'same  ' if is_alike else 'DIFFER'}  {name}")
    print(f"        real {real[:MAX_SHOWN_CHARS]}")
    print(f"        fake {pretended[:MAX_SHOWN_CHARS]}", flush=True)
    return is_alike


def _comparable(told: str) -> str:
    return _PARSERS_WORDS.sub('"message":"(of the parser)"', told)


async def _probed(http: HttpClient, url: str, probe: Probe) -> str:
    headers = {"content-type": probe.content_type} if probe.method == "POST" else {}
    request = HttpRequest(probe.method, f"{url}/api/v1/{probe.path}", headers, probe.body)
    async with http.exchange(request) as answer:
        content = b""
        while piece := await answer.read():
            content += piece
        kind = answer.header("content-type").partition(";")[0]
        text = content.decode() if kind == "application/json" else f"({len(content) > 0})"
        return f"{answer.status} {kind} {text}"


async def _ours(daemon: SignalClient, what: str) -> str:
    try:
        if what == "check":
            await daemon.check()
        elif what == "account":
            await find_account(daemon, "")
        elif what == "send":
            await daemon.call("send", {"recipient": [_NOBODY], "message": "x"})
        else:
            async with daemon.events():
                pass
    except ChannelError as err:
        return f"{type(err).__name__}: {err}"
    return "fine"


async def _first_byte(http: HttpClient, url: str) -> str:
    """Return the first byte of an idle daemon's stream, and about when it comes."""
    begun_s = asyncio.get_running_loop().time()
    request = HttpRequest("GET", f"{url}/api/v1/events")
    try:
        async with http.exchange(request, KEEP_ALIVE_LIMIT_S) as answer:
            headers_s = asyncio.get_running_loop().time() - begun_s
            piece = await answer.read(KEEP_ALIVE_LIMIT_S)
            return (
                f"{answer.status} {answer.header('content-type')}, headers after "
                f"{headers_s:.0f} s, then {piece!r}"
            )
    except NetworkError as err:
        return str(err)
