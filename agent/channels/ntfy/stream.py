"""Stream of a topic's events, read on while a file of one of them is fetched."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

from agent.channels.ntfy.events import NtfyEvent, NtfyEventLines
from agent.errors import ChannelUnavailable, NetworkError
from agent.net.http import HttpAnswer

# A server says something every 45 s; a connection that is silent for longer is dead
SILENCE_LIMIT_S = 75.0


class NtfyStream:
    """Events of one answer that has no end."""

    def __init__(self, answer: HttpAnswer) -> None:
        self._answer = answer
        self._lines = NtfyEventLines()
        self._ready: deque[NtfyEvent] = deque()
        self._reading: asyncio.Task[bytes] | None = None

    async def messages(self, beat: Callable[[], None]) -> AsyncGenerator[NtfyEvent, None]:
        """Yield the events; broken off, it goes on where it was.

        Raises:
            ChannelUnavailable: it has ended.
        """
        while True:
            while self._ready:
                yield self._ready.popleft()
            piece = await self._piece()
            beat()
            self._ready += self._lines.feed(piece)

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _piece(self) -> bytes:
        # A read that is cancelled could take its piece along
        if self._reading is None:
            self._reading = asyncio.create_task(self._answer.read(SILENCE_LIMIT_S))
        await asyncio.wait([self._reading])
        done, self._reading = self._reading, None
        try:
            piece = done.result()
        except NetworkError as err:
            raise ChannelUnavailable(f"ntfy: {err}") from err
        if not piece:
            raise ChannelUnavailable("ntfy ended the stream of messages")
        return piece
