"""The connection that messages come by: opened, answered, and followed by another in time.

The platform says everything once and keeps nothing, so a message that could not be kept is not
forgotten here either: it is tried again before anything else is heard.
"""

import contextlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from agent.channels import socket
from agent.channels.base import Pulse
from agent.channels.dingtalk import events
from agent.channels.dingtalk.api import HEARD, DingTalkApi, text_in
from agent.channels.dingtalk.events import Message
from agent.channels.socket import Socket
from agent.clock import Clock
from agent.errors import ChannelUnavailable
from agent.printable import printable_line

_log = logging.getLogger(__name__)

# Messages that were taken; where the platform repeats one after all, it does so within minutes
MAX_TAKEN = 1000
# Connections live for hours; where this many end in a minute, whoever begins again waits longer
MOST_BEGUN, BEGUN_WITHIN_S = 4, 60.0
# A message of a person is a hundredth of it
MAX_FRAME_BYTES = 1024 * 1024
_OK, _NOT_KNOWN = 200, 404
_NOTHING = json.dumps({"response": None})

Take = Callable[[Message], Awaitable[None]]


class Headers(msgspec.Struct, frozen=True, rename="camel"):
    """What a frame is about, and the number that its answer has to name."""

    topic: str = ""
    message_id: str = ""


class Frame(msgspec.Struct, frozen=True):
    """What the platform says; `data` is JSON in a string."""

    type: str = ""
    headers: Headers = Headers()
    data: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    socket: Socket
    end: contextlib.AsyncExitStack


class Connection:
    """Hears messages, one at a time."""

    def __init__(self, api: DingTalkApi, pulse: Pulse, clock: Clock) -> None:
        self._api = api
        self._pulse = pulse
        self._clock = clock
        self._taken: deque[str] = deque(maxlen=MAX_TAKEN)
        self._owed: Message | None = None

    async def run(self, take: Take) -> None:
        """Until cancelled.

        Raises:
            ChannelError: there is no connection any more.
        """
        if self._owed is not None:
            await self._take(self._owed, take)
        begun_s = deque([self._clock.monotonic_s()], maxlen=MOST_BEGUN)
        lines = [await self._begun()]
        try:
            while True:
                await self._hear(lines[0].socket, take)
                now_s = self._clock.monotonic_s()
                if len(begun_s) == MOST_BEGUN and now_s - begun_s[0] < BEGUN_WITHIN_S:
                    raise ChannelUnavailable("DingTalk ends every connection as soon as it is open")
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
            opened = socket.opened(url, max_bytes=MAX_FRAME_BYTES)
            line = await stack.enter_async_context(opened)
            self._pulse.beat()
            return _Line(line, stack.pop_all())

    async def _hear(self, line: Socket, take: Take) -> None:
        """Return when the platform wants to end this connection."""
        async with contextlib.aclosing(line.messages(self._pulse.beat)) as messages:
            async for message in messages:
                frame = _read(message)
                if frame is None:
                    continue
                if (frame.type, frame.headers.topic) == ("SYSTEM", "disconnect"):
                    _log.info("DingTalk ends a connection: %s", _reason(frame.data))
                    return
                await line.send(await self._answer(frame, take))

    async def _answer(self, frame: Frame, take: Take) -> str:
        if (frame.type, frame.headers.topic) == ("SYSTEM", "ping"):
            return _acknowledged(frame, _OK, frame.data)
        if (frame.type, frame.headers.topic) != ("CALLBACK", HEARD):
            return _acknowledged(frame, _NOT_KNOWN, _NOTHING)
        message = events.read(frame.data)
        if message is None:
            _log.warning("DingTalk said something that is not as documented")
        elif message.msg_id not in self._taken:
            await self._take(message, take)
        return _acknowledged(frame, _OK, _NOTHING)

    async def _take(self, message: Message, take: Take) -> None:
        self._owed = message
        await take(message)
        self._owed = None
        if message.msg_id:
            self._taken.append(message.msg_id)


def _read(message: str | bytes) -> Frame | None:
    """None of what is not as documented; its words stay out of the log, they are a person's."""
    try:
        return msgspec.json.decode(message, type=Frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        _log.warning("DingTalk sent a frame that is not as documented")
        return None


def _acknowledged(frame: Frame, code: int, data: str) -> str:
    told = {"contentType": "application/json", "messageId": frame.headers.message_id}
    said = "OK" if code == _OK else "not found"
    return json.dumps({"code": code, "headers": told, "message": said, "data": data})


def _reason(data: str) -> str:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    return printable_line(text_in(told, "reason"), 100)
