"""Wyoming's own client, used as Home Assistant uses it: one connection for each sentence.

Its classes refuse what lacks a field, so that an event which they read is one.
"""

import asyncio
from typing import Any

from wyoming.asr import Transcript
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.handle import Handled, HandledChunk, HandledStart, HandledStop, NotHandled
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong

Step = dict[str, Any]


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return {"results": [asyncio.run(_done(talk, dict(one))) for one in talk["steps"]]}


class _Room(AsyncTcpClient):
    """Client in a room of its own: the address tells one from the other."""

    def __init__(self, port: int, address: str) -> None:
        super().__init__("127.0.0.1", port)
        self._address = address

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self.host, self.port, local_addr=(self._address, 0)
        )


async def _done(talk: dict[str, Any], step: Step) -> dict[str, Any]:
    async with _Room(talk["port"], talk.get("address", "127.0.0.1")) as client:
        return await _STEPS[step.pop("do")](client, step)


async def _describe(client: AsyncTcpClient, _step: Step) -> dict[str, Any]:
    await client.write_event(Describe().event())
    event = await client.read_event()
    assert event is not None
    assert Info.is_type(event.type)
    info = Info.from_event(event)
    # As Home Assistant chooses its platforms and the agent's languages
    programs = [one for one in info.handle if one.installed]
    languages = {lang for one in programs[0].models if one.installed for lang in one.languages}
    return {
        "name": programs[0].name,
        "languages": sorted(languages),
        "streams": programs[0].supports_handled_streaming,
        "others": [*info.asr, *info.tts, *info.intent, *info.wake, *info.mic, *info.snd],
        "satellite": info.satellite,
    }


async def _ping(client: AsyncTcpClient, step: Step) -> dict[str, Any]:
    await client.write_event(Ping(**step).event())
    event = await client.read_event()
    assert event is not None
    assert Pong.is_type(event.type)
    return {"text": Pong.from_event(event).text}


async def _say(client: AsyncTcpClient, step: Step) -> dict[str, Any]:
    """Read until the answer, as Home Assistant does, which passes over a stream's events."""
    await client.write_event(Transcript(**step).event())
    while (event := await client.read_event()) is not None:
        if Handled.is_type(event.type):
            handled = Handled.from_event(event)
            return {"handled": handled.text, "context": handled.context}
        if NotHandled.is_type(event.type):
            return {"not_handled": NotHandled.from_event(event).text}
        if Error.is_type(event.type):
            return {"error": Error.from_event(event).text}
    return {"lost": True}


async def _stream(client: AsyncTcpClient, step: Step) -> dict[str, Any]:
    """Read a stream to its end."""
    await client.write_event(Transcript(**step).event())
    pieces: list[str] = []
    started, whole = None, None
    while (event := await client.read_event()) is not None:
        if HandledStart.is_type(event.type):
            started = HandledStart.from_event(event).context
        elif HandledChunk.is_type(event.type):
            pieces.append(HandledChunk.from_event(event).text)
        elif Handled.is_type(event.type):
            whole = Handled.from_event(event).text
        elif HandledStop.is_type(event.type):
            return {"pieces": pieces, "whole": whole, "started": started}
    return {"lost": True}


_STEPS = {"describe": _describe, "ping": _ping, "say": _say, "stream": _stream}
