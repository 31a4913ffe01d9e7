"""Stream connection of DingTalk: opened, acknowledged, and replaced in time.

The platform says everything once and keeps nothing. So it is heard at once, whatever is still
being worked on, and what could not be kept or was cut off is not forgotten but tried again.
"""

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from agent.channels.base import Pulse
from agent.channels.dingtalk import events
from agent.channels.dingtalk.client import HEARD, DingTalkApi, text_in
from agent.channels.dingtalk.events import DingTalkMessage
from agent.channels.websocket import WebSocket, opened
from agent.errors import ChannelUnavailable
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# Messages that were taken; where the platform repeats one after all, it does so within minutes
MAX_TAKEN = 1000
# Messages behind one whose files are fetched; what comes then waits at the platform
MAX_OWED = 500
# Connections live for hours; where this many end in a minute, whoever begins again waits longer
MOST_BEGUN, BEGUN_WITHIN_S = 4, 60.0
# A message of a person is a hundredth of it
MAX_FRAME_BYTES = 1024 * 1024
_OK, _NOT_KNOWN = 200, 404
_NOTHING = json.dumps({"response": None})

_PING, _DISCONNECT = ("SYSTEM", "ping"), ("SYSTEM", "disconnect")
_SAID = ("CALLBACK", HEARD)

Take = Callable[[DingTalkMessage], Awaitable[None]]
# Whether it is taken by now: what cannot wait for the files of another
Hurry = Callable[[DingTalkMessage], Awaitable[bool]]


class DingTalkHeaders(msgspec.Struct, frozen=True, rename="camel"):
    """Headers of a frame: its subject, and the number that the answer must name."""

    topic: str = ""
    message_id: str = ""


class DingTalkFrame(msgspec.Struct, frozen=True):
    """Frame of the platform; `data` is JSON in a string."""

    type: str = ""
    headers: DingTalkHeaders = DingTalkHeaders()
    data: str = ""


class _Line(Struct, frozen=True):
    socket: WebSocket
    end: contextlib.AsyncExitStack


class _Heard(Struct, frozen=True):
    """Received message that is not committed yet."""

    message: DingTalkMessage
    frame: DingTalkFrame
    socket: WebSocket


class DingTalkReceiver:
    """Stream connection that keeps receiving while messages are handled one at a time."""

    def __init__(self, api: DingTalkApi, pulse: Pulse, clock: Clock) -> None:
        self._api = api
        self._pulse = pulse
        self._clock = clock
        self._taken: deque[str] = deque(maxlen=MAX_TAKEN)
        self._owed: deque[_Heard] = deque()
        self._more, self._fewer = asyncio.Event(), asyncio.Event()

    async def run(self, take: Take, hurry: Hurry) -> None:
        """Receive until cancelled.

        Raises:
            ChannelError: there is no connection any more.
            StorageFull: a message cannot be kept; it is not forgotten.
        """
        work = (self._listen(hurry), self._work(take))
        tasks = [asyncio.ensure_future(one) for one in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            failures = [task.exception() for task in tasks if not task.cancelled()]
        for failure in failures:
            if failure is not None:
                raise failure

    async def _listen(self, hurry: Hurry) -> None:
        begun_s = deque([self._clock.monotonic_s()], maxlen=MOST_BEGUN)
        lines = [await self._begun()]
        try:
            while True:
                await self._hear(lines[0].socket, hurry)
                now_s = self._clock.monotonic_s()
                if len(begun_s) == MOST_BEGUN and now_s - begun_s[0] < BEGUN_WITHIN_S:
                    raise ChannelUnavailable(
                        "DingTalk closes every connection as soon as it is open"
                    )
                begun_s.append(now_s)
                # Nobody is heard until there is another; the old one says nothing more
                lines.append(await self._begun())
                await lines.pop(0).end.aclose()
        finally:
            for line in lines:
                await line.end.aclose()

    async def _begun(self) -> _Line:
        url = await self._api.endpoint()
        async with contextlib.AsyncExitStack() as stack:
            connection = opened(url, max_bytes=MAX_FRAME_BYTES)
            line = await stack.enter_async_context(connection)
            self._pulse.beat()
            return _Line(line, stack.pop_all())

    async def _hear(self, line: WebSocket, hurry: Hurry) -> None:
        """Receive until the platform wants to close the connection."""
        async with contextlib.aclosing(line.messages(self._pulse.beat)) as messages:
            async for message in messages:
                frame = _read(message)
                if frame is None:
                    continue
                about = (frame.type, frame.headers.topic)
                if about == _DISCONNECT:
                    _log.info(
                        "dingtalk: connection closed by the server (reason=%s)", _reason(frame.data)
                    )
                    return
                if about == _SAID:
                    await self._put(frame, line, hurry)
                else:
                    is_ping = about == _PING
                    answer = (_OK, frame.data) if is_ping else (_NOT_KNOWN, _NOTHING)
                    await line.send(_acknowledged(frame, *answer))

    async def _put(self, frame: DingTalkFrame, line: WebSocket, hurry: Hurry) -> None:
        message = events.read(frame.data)
        if message is None:
            _log.warning("dingtalk: message skipped, not as documented")
            await line.send(_acknowledged(frame, _OK, _NOTHING))
            return
        heard = _Heard(message, frame, line)
        try:
            is_taken = message.msg_id in self._taken or await hurry(message)
        except BaseException:
            self._owed.append(heard)
            raise
        if is_taken:
            await self._note(heard)
            return
        self._owed.append(heard)
        self._more.set()
        while len(self._owed) >= MAX_OWED:
            self._fewer.clear()
            await self._fewer.wait()

    async def _work(self, take: Take) -> None:
        while True:
            while self._owed:
                heard = self._owed[0]
                if heard.message.msg_id not in self._taken:
                    await take(heard.message)
                self._owed.popleft()
                self._fewer.set()
                await self._note(heard)
            self._more.clear()
            await self._more.wait()

    async def _note(self, heard: _Heard) -> None:
        if heard.message.msg_id and heard.message.msg_id not in self._taken:
            self._taken.append(heard.message.msg_id)
        # Over a line that has ended nobody waits for it, and whoever reads the new one hears of it
        with contextlib.suppress(ChannelUnavailable):
            await heard.socket.send(_acknowledged(heard.frame, _OK, _NOTHING))


def _read(message: str | bytes) -> DingTalkFrame | None:
    """Decode a value; None if it is not as documented. Its words stay out of the log."""
    try:
        return msgspec.json.decode(message, type=DingTalkFrame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        _log.warning("dingtalk: frame skipped, not as documented")
        return None


def _acknowledged(frame: DingTalkFrame, code: int, data: str) -> str:
    told = {"contentType": "application/json", "messageId": frame.headers.message_id}
    said = "OK" if code == _OK else "not found"
    return json.dumps({"code": code, "headers": told, "message": said, "data": data})


def _reason(data: str) -> str:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    return printable_line(text_in(told, "reason"), 100)
