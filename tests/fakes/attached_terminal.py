"""A terminal at the socket of a running agent that says exactly what a test wants."""

import asyncio
from pathlib import Path

from agent.channels.attached import frames
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.socket import connected

# Of a process of its own nothing is waited for
PATIENCE_S = 20.0


class AttachedTerminal:
    """Attached by `attach`; `heard` is all that came."""

    def __init__(self, path: Path) -> None:
        self._wire = LineConnection(connected(path), frames.MAX_SHOWN_FRAME_BYTES)
        self.heard: list[frames.FromAgent] = []

    async def attach(self, *, plain: bool = False) -> None:
        await self.say(frames.HelloFrame(frames.VERSION, plain))
        assert isinstance(await self.hear(), frames.WelcomeFrame)

    async def say(self, frame: frames.FromTerminal) -> None:
        await self._wire.send(frames.encoded(frame))

    async def hear(self) -> frames.FromAgent | None:
        """The next frame; None when the agent has hung up."""
        async with asyncio.timeout(PATIENCE_S):
            line = await self._wire.receive()
        if line is None:
            return None
        self.heard.append(frame := frames.from_agent(line))
        return frame

    async def show(self) -> frames.MessageFrame:
        """The next frame, which is an answer, confirmed."""
        answer = await self.hear()
        assert isinstance(answer, frames.MessageFrame), answer
        await self.say(frames.ShownFrame(answer.number))
        return answer

    async def leave(self) -> None:
        await self.say(frames.LeaveFrame())
        self.close()

    def close(self) -> None:
        self._wire.close()
