import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent.channels.attached import client, frames
from agent.channels.attached.client import BACK_TEXT, GONE_TEXT, AgentConnection, AttachNotices
from agent.channels.attached.lines import LineConnection
from agent.channels.terminal import TerminalChannel
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from tests.channels.test_terminal import TypedLines
from tests.fakes.channel import message
from tests.fakes.clock import SteppedClock

LIMIT_BYTES = frames.MAX_SHOWN_FRAME_BYTES
# Nothing here waits for the world
PATIENCE_S = 20.0


class PlayedAgent:
    """The agent's end of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._wire = LineConnection(connection, LIMIT_BYTES)

    async def hear(self) -> frames.FromTerminal:
        async with asyncio.timeout(PATIENCE_S):
            line = await self._wire.receive()
        assert line is not None
        return frames.from_terminal(line)

    async def say(self, frame: frames.FromAgent) -> None:
        await self._wire.send(frames.encoded(frame))

    async def welcome(self) -> None:
        assert isinstance(await self.hear(), frames.HelloFrame)
        await self.say(frames.WelcomeFrame(frames.VERSION, "all is well"))

    def die(self) -> None:
        self._wire.close()


@dataclass
class Played:
    """An attachment whose terminal and agent are played by a test."""

    plain: bool = False
    lines: TypedLines = field(default_factory=TypedLines)
    shown: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    tries: int = 0
    away: bool = False

    def __post_init__(self) -> None:
        self.clock = SteppedClock()
        self.connections: asyncio.Queue[PlayedAgent] = asyncio.Queue()
        terminal = TerminalChannel(
            self.lines, self.shown.append, self.clock, "> ", plain=self.plain
        )
        notices = AttachNotices(self.told.append, self.told.append)
        self.attachment = AgentConnection(
            terminal, self._connect, notices, self.clock, plain=self.plain
        )

    def _connect(self) -> LineConnection:
        self.tries += 1
        if self.away:
            raise ChannelUnavailable("nobody listens")
        near, far = socket.socketpair(socket.AF_UNIX)
        self.connections.put_nowait(PlayedAgent(far))
        return LineConnection(near, LIMIT_BYTES)

    async def agent(self) -> PlayedAgent:
        """The agent that the next connection leads to, which has welcomed the terminal."""
        agent = await self.connections.get()
        await agent.welcome()
        return agent


@asynccontextmanager
async def attached(played: Played) -> AsyncIterator[asyncio.Task[None]]:
    running = asyncio.ensure_future(played.attachment.run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait([running])
        while not played.connections.empty():
            played.connections.get_nowait().die()


async def test_a_message_is_said_again_until_it_is_taken_and_answered() -> None:
    played = Played()
    async with attached(played):
        delivering = asyncio.ensure_future(played.attachment.deliver(message("do it", "1")))
        for _ in range(3):
            agent = await played.agent()
            assert await agent.hear() == frames.SayFrame("1", "do it")
            agent.die()
        agent = await played.agent()
        assert await agent.hear() == frames.SayFrame("1", "do it")
        await agent.say(frames.AcceptedFrame("1"))
        await delivering
        agent.die()
        agent = await played.agent()
        assert await agent.hear() == frames.SayFrame("1", "do it")
        await agent.say(frames.MessageFrame(1, "done", "1", 7))
        assert await agent.hear() == frames.ShownFrame(1)
        agent.die()
        agent = await played.agent()
        await agent.say(frames.MessageFrame(1, "news", "", 8))
        assert await agent.hear() == frames.ShownFrame(1)
        agent.die()
    assert played.told[:11] == ["all is well", *[GONE_TEXT, BACK_TEXT] * 5]
    assert "".join(played.shown) == "done\nnews\n"


async def test_what_comes_twice_is_shown_once_and_confirmed_twice() -> None:
    played = Played()
    async with attached(played):
        agent = await played.agent()
        for number in (1, 2):
            await agent.say(frames.MessageFrame(number, "news", "", 7))
            assert await agent.hear() == frames.ShownFrame(number)
        # What was never recorded has no number to be known by
        for number in (3, 4):
            await agent.say(frames.MessageFrame(number, "oh", "", 0))
            assert await agent.hear() == frames.ShownFrame(number)
        agent.die()
    assert played.shown == ["news\n", "oh\n", "oh\n"]


async def test_a_message_that_is_refused_is_given_back() -> None:
    played = Played()
    async with attached(played):
        agent = await played.agent()
        delivering = asyncio.ensure_future(played.attachment.deliver(message("do it", "1")))
        await agent.hear()
        await agent.say(frames.RefusedFrame("1", "there is no room"))
        with pytest.raises(MessageRefused, match="there is no room"):
            await delivering
        agent.die()
        # Nobody says it again
        agent = await played.agent()
        await agent.say(frames.MessageFrame(1, "news"))
        assert await agent.hear() == frames.ShownFrame(1)
        agent.die()


async def test_questions_are_answered_by_the_person_and_withdrawn_by_the_agent() -> None:
    played = Played(lines=TypedLines("y", "the left one"))
    async with attached(played):
        agent = await played.agent()
        await agent.say(
            frames.ApprovalFrame(1, "pump", '{"on":true}', "it may hurt", always="the pump")
        )
        assert await agent.hear() == frames.AnswerFrame(1, "yes")
        await agent.say(frames.QuestionFrame(2, "which one?"))
        assert await agent.hear() == frames.AnswerFrame(2, "the left one")
        await agent.say(frames.QuestionFrame(3, "and now?"))
        assert await agent.hear() == frames.AnswerFrame(3, None)
        await agent.say(frames.WithdrawFrame(99))
        agent.die()


async def test_whoever_is_turned_away_does_not_try_again() -> None:
    played = Played()
    async with attached(played) as running:
        agent = await played.connections.get()
        await agent.hear()
        await agent.say(frames.ByeFrame("you may not", is_final=True))
        with pytest.raises(ChannelRefused, match="you may not"):
            await running
        agent.die()
    assert played.tries == 1


@pytest.mark.parametrize("plain", [True, False])
async def test_a_pipe_gives_up_in_the_end_and_a_person_decides(*, plain: bool) -> None:
    played = Played(plain=plain, away=True)
    async with attached(played) as running:
        if plain:
            with pytest.raises(ChannelUnavailable, match="did not come back"):
                await running
        else:
            while played.clock.monotonic_s() < 10 * client.PLAIN_PATIENCE_S:  # noqa: ASYNC110 - a clock has no event
                await asyncio.sleep(0)
            assert not running.done()
    assert max(played.clock.slept_s) <= client.MAX_WAIT_S


async def test_a_second_interruption_and_one_without_an_agent_mean_to_leave() -> None:
    played = Played()
    async with attached(played):
        agent = await played.agent()
        await agent.say(frames.MessageFrame(1, "ready"))
        await agent.hear()
        assert not played.attachment.stop()
        delivering = asyncio.ensure_future(played.attachment.deliver(message("do it", "1")))
        await agent.hear()
        assert played.attachment.stop()
        assert await agent.hear() == frames.StopFrame()
        assert not played.attachment.stop()
        delivering.cancel()
        agent.die()


@pytest.mark.parametrize(
    "frame",
    [frames.AcceptedFrame("9"), frames.RefusedFrame("9", "x"), frames.DraftFrame("9", 4, "x")],
)
async def test_what_is_said_of_an_unknown_message_is_ignored(frame: frames.FromAgent) -> None:
    played = Played()
    async with attached(played):
        agent = await played.agent()
        await agent.say(frame)
        await agent.say(frames.MessageFrame(1, "news"))
        assert await agent.hear() == frames.ShownFrame(1)
        agent.die()
    assert played.shown == ["news\n"]
