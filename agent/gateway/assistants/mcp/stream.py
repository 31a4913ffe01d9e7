"""Stream that answers one call: how far it is, the questions of its client's form, its result.

A client that names its call is told of each step, and again as long as the call is at work: one
that waits for the owner is no call that hangs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from agent.channels.base import Answer, Question
from agent.gateway.assistants.desk import BEAT_S

if TYPE_CHECKING:
    from agent.approvals.questions import Ask
    from agent.gateway.assistants.mcp.wire import RpcAnswer

_ALIVE = b": still at work\n\n"
_TOKEN = "progressToken"  # noqa: S105 - what a client names its call by; opens nothing


class CallStream:
    """Messages to the client of one call.

    Args:
        params: of the call; its metadata may name it.
    """

    def __init__(self, params: dict[str, Any]) -> None:
        meta = params.get("_meta")
        named = meta.get(_TOKEN) if isinstance(meta, dict) else None
        is_name = isinstance(named, int | str) and not isinstance(named, bool)
        self._named = named if is_name else None
        self._steps = 0
        self._messages: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, message: bytes) -> None:
        """Send a message of ours."""
        self._messages.put_nowait(message)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Let what this task begins know the stream."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def asked_by(self, first: "Ask | None") -> "Ask":
        """Return what tells that somebody is asked, and then asks by the client, if it can."""

        async def ask(question: Question) -> Answer:
            self._step("the owner is asked")
            return Answer.NONE if first is None else await first(question)

        return ask

    async def events(self, task: "asyncio.Task[RpcAnswer]") -> AsyncIterator[bytes]:
        """Yield the messages up to the answer; a call that is taken back has none."""
        self._step("taken")
        heard = asyncio.ensure_future(self._messages.get())
        try:
            while not task.done():
                done, _ = await asyncio.wait(
                    {task, heard}, timeout=BEAT_S, return_when=asyncio.FIRST_COMPLETED
                )
                if heard in done:
                    yield _event(heard.result())
                    heard = asyncio.ensure_future(self._messages.get())
                elif not done:
                    yield _ALIVE
                    self._step("still at work")
            if task.cancelled():
                return
            self._step("done")
            if heard.done():
                yield _event(heard.result())
            while not self._messages.empty():
                yield _event(self._messages.get_nowait())
            yield _event(task.result().encoded())
        finally:
            heard.cancel()

    def _step(self, told: str) -> None:
        if self._named is None:
            return
        params = {_TOKEN: self._named, "progress": self._steps, "message": told}
        self._steps += 1
        self.put(
            msgspec.json.encode(
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            )
        )


_current: ContextVar[CallStream | None] = ContextVar("stream", default=None)


def current() -> CallStream | None:
    """Return the stream of this task's call; None where it has none."""
    return _current.get()


def _event(message: bytes) -> bytes:
    return b"event: message\ndata: " + message + b"\n\n"
