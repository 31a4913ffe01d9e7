"""Client of a signal-cli daemon over HTTP: calls, and its stream of events.

The only module that knows addresses and the envelope of JSON-RPC. The daemon asks nobody who they
are: it belongs on this machine, and what it says is checked all the same.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from agent.channels.signal import errors
from agent.errors import ChannelRefused, ChannelUnavailable, NetworkError
from agent.net.http import HttpAnswer, HttpClient, HttpRequest

# It answers when Signal's servers have answered it, over whatever line there is
CALL_TIMEOUT_S = 60.0
# Whether it runs at all, on the same machine
CHECK_TIMEOUT_S = 10.0
# Three of the daemon's signs of life: it sends one every 15 s. Before the first of them, releases
# up to 0.13 do not even send headers
SILENCE_LIMIT_S = 45.0
# The daemon is asked for its accounts at a start; it answers that without Signal's servers
ACCOUNT_TIMEOUT_S = 10.0
# Results of a large group; a file has a way of its own
MAX_ANSWER_BYTES = 1024 * 1024

_JSON = {"content-type": "application/json"}
_OK, _BAD_REQUEST = 200, 400
# Asked of the daemon; every other method is asked of an account
_WITHOUT_ACCOUNT = frozenset({"finishLink", "listAccounts", "startLink", "version"})


class SignalClient:
    """Client of one daemon.

    Args:
        account: whose; empty where the daemon is to be asked. Calls wait until it was.
    """

    def __init__(self, base_url: str, account: str, http: HttpClient) -> None:
        self.account = account
        self._is_known = asyncio.Event()
        if account:
            self._is_known.set()
        self._base_url = base_url.rstrip("/")
        self._http = http
        self._count = 0

    def learn_account(self, account: str) -> None:
        """Speak for that account from now on; empty means the daemon's only one."""
        self.account = account
        self._is_known.set()

    async def check(self) -> None:
        """Check that a daemon answers.

        Raises:
            ChannelUnavailable: none does.
            ChannelRefused: something else does.
        """
        try:
            async with self._http.exchange(self._get("check"), CHECK_TIMEOUT_S) as answer:
                if answer.status != _OK:
                    raise errors.wrong_status(answer.status, answer.host)
        except NetworkError as err:
            raise ChannelUnavailable(
                f"cannot reach the signal-cli daemon ({err}): start it with `signal-cli daemon "
                "--http`"
            ) from err

    async def call(
        self, method: str, parameters: Mapping[str, object], timeout_s: float = CALL_TIMEOUT_S
    ) -> Any:
        """Call a method and return its result.

        Raises:
            ChannelUnavailable: no daemon, no network, or asked too often.
            ChannelRefused: a person has to act.
            MessageRefused: this is never granted.
        """
        async with self.answering(method, parameters, timeout_s) as answer:
            content = await _whole(answer)
        return result_in(method, content)

    @asynccontextmanager
    async def answering(
        self, method: str, parameters: Mapping[str, object], timeout_s: float = CALL_TIMEOUT_S
    ) -> AsyncIterator[HttpAnswer]:
        """Yield the answer to a call while it comes; raises as `call` does."""
        if method not in _WITHOUT_ACCOUNT:
            await self._wait_for_account()
        try:
            async with self._http.exchange(self._post(method, parameters), timeout_s) as answer:
                if answer.status != _OK:
                    raise errors.wrong_status(answer.status, answer.host)
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(f"signal-cli: {err}") from err

    @asynccontextmanager
    async def events(self, after: str = "") -> AsyncIterator[HttpAnswer]:
        """Yield the stream of events; with `after` also missed ones, if the daemon keeps them.

        Raises:
            ChannelUnavailable: it does not come.
            ChannelRefused: the account is not there.
        """
        headers = {"last-event-id": after} if after.isascii() and after.isprintable() else {}
        query = f"?account={quote(self.account, safe='')}" if self.account else ""
        request = replace(self._get(f"events{query}", headers if after else {}), is_held_open=True)
        try:
            async with self._http.exchange(request, SILENCE_LIMIT_S) as answer:
                if answer.status == _BAD_REQUEST:
                    raise ChannelRefused(unknown(self.account))
                if answer.status != _OK:
                    raise errors.wrong_status(answer.status, answer.host)
                yield answer
        except NetworkError as err:
            raise ChannelUnavailable(f"signal-cli: {err}") from err

    async def _wait_for_account(self) -> None:
        try:
            async with asyncio.timeout(ACCOUNT_TIMEOUT_S):
                await self._is_known.wait()
        except TimeoutError as err:
            raise ChannelUnavailable("signal-cli has not told its account yet") from err

    def _get(self, path: str, headers: Mapping[str, str] | None = None) -> HttpRequest:
        return HttpRequest("GET", f"{self._base_url}/api/v1/{path}", headers or {})

    def _post(self, method: str, parameters: Mapping[str, object]) -> HttpRequest:
        self._count += 1
        is_named = self.account and method not in _WITHOUT_ACCOUNT
        account = {"account": self.account} if is_named else {}
        call = {
            "jsonrpc": "2.0",
            "id": self._count,
            "method": method,
            "params": {**account, **parameters},
        }
        content = json.dumps(call, ensure_ascii=False).encode("utf-8", "replace")
        return HttpRequest("POST", f"{self._base_url}/api/v1/rpc", _JSON, content)


def unknown(account: str) -> str:
    """Return the advice about an account that the daemon does not have."""
    return (
        f"the signal-cli daemon does not know the account {account or 'that is meant'}: "
        "`barnacle signal link` links one; a daemon that runs with -a has only that one"
    )


def result_in(method: str, content: bytes) -> Any:
    """Return the result in an answer; raises as `SignalClient.call` does."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError) as err:
        raise ChannelUnavailable("unreadable answer from signal-cli") from err
    if not isinstance(told, dict):
        raise ChannelUnavailable("unreadable answer from signal-cli")
    error = told.get("error")
    if isinstance(error, dict):
        raise errors.refused(method, error)
    return told.get("result")


async def _whole(answer: HttpAnswer) -> bytes:
    content = bytearray()
    while piece := await answer.read():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ChannelUnavailable("answer of signal-cli too long")
    return bytes(content)
