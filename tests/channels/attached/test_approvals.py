"""Questions over a restart of the agent: a word is for the question that was shown."""

import asyncio
from pathlib import Path

from agent.channels.attached import frames
from agent.channels.base import Answer, Question
from tests.channels.attached.test_channel import Device, device
from tests.fakes.attached_terminal import AttachedTerminal

PUMP = Question("pump", '{"on":true}', "it may hurt")
GATE = Question("gate", '{"on":true}', "it may let somebody in")


async def asked(
    agent: Device, terminal: AttachedTerminal, question: Question
) -> tuple["asyncio.Future[Answer]", int]:
    """Ask, and return the number under which the terminal shows it."""
    inbound = await agent.asked_by(terminal)
    asking = asyncio.ensure_future(agent.terminals.ask(inbound.address, question))
    shown = await terminal.hear()
    assert isinstance(shown, frames.ApprovalFrame)
    return asking, shown.question


async def test_a_yes_to_a_question_of_before_a_restart_is_none_to_another(tmp_path: Path) -> None:
    """A page may still show the old one: a telephone that slept, a browser without scripts."""
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        asking, before = await asked(agent, terminal, PUMP)
        asking.cancel()
        terminal.close()
    async with device(tmp_path) as agent:
        terminal = await agent.attached()
        asking, now = await asked(agent, terminal, GATE)
        await terminal.say(frames.AnswerFrame(before, "yes"))
        # What it said is with the agent when this has an answer
        await terminal.say(frames.SayFrame("after", "/help"))
        await terminal.hear()
        assert not asking.done()
        await terminal.say(frames.AnswerFrame(now, "yes"))
        assert await asking is Answer.YES
        terminal.close()
