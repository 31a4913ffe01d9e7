"""A terminal of a real dispatcher: what it waits for is what is still to come."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from agent.channels.attached import frames
from agent.channels.attached.channel import MAX_UNANSWERED, AgentSide, AttachedTerminals
from agent.messages import Inbound
from agent.messaging.inbox import is_settled
from tests.fakes.attached_terminal import AttachedTerminal
from tests.fakes.clock import HeldClock
from tests.fakes.dispatching import running
from tests.fakes.slow_provider import SlowProvider
from tests.waits import wait_until

# A turn that nobody stops outlasts the test
_FOR_EVER_S = 3600.0


@asynccontextmanager
async def attached(folder: Path) -> AsyncIterator[AttachedTerminal]:
    terminals = AttachedTerminals(folder / "chat.sock", folder, HeldClock())
    async with running(folder, SlowProvider(_FOR_EVER_S), terminals) as agent:

        async def deliver(message: Inbound) -> None:
            await agent.dispatcher.deliver(message, agent.tasks)

        catch_up = partial(agent.dispatcher.catch_up, terminals.name, tasks=agent.tasks)
        known = partial(is_settled, agent.journal, terminals.name)
        terminals.open(AgentSide(str, agent.dispatcher.stop, catch_up, known))
        listening = asyncio.ensure_future(terminals.listen(deliver))
        try:
            await wait_until((folder / "chat.sock").exists)
            terminal = AttachedTerminal(folder / "chat.sock")
            await terminal.attach()
            yield terminal
            terminal.close()
        finally:
            listening.cancel()
            await asyncio.wait([listening])


async def taken(terminal: AttachedTerminal, message_id: str, text: str) -> None:
    """Say it; return when the agent has taken it, and show what comes before that."""
    await terminal.say(frames.SayFrame(message_id, text))
    while (frame := await terminal.hear()) != frames.AcceptedFrame(message_id):
        assert isinstance(frame, frames.MessageFrame), frame
        await terminal.say(frames.ShownFrame(frame.number))


async def test_what_ends_without_an_answer_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    """A stop that stops something is answered by what it stopped."""
    async with attached(tmp_path) as terminal:
        for number in range(MAX_UNANSWERED + 1):
            await taken(terminal, f"asked-{number}", "think about it")
            await taken(terminal, f"stopped-{number}", "/stop")
        await taken(terminal, "last", "good morning")
