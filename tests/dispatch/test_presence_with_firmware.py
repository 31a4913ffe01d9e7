"""A question answered at the device: the gate, the link and the firmware with its button."""

import asyncio
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.clock import SystemClock
from agent.dispatch.gate import Gate
from agent.dispatch.presence import Button, PresenceRule
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.messages import Effect, Provenance, ToolCall
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, Verdict
from tests.fakes.board_sim import BoardSim

# Everything comes in milliseconds; a busy machine may need longer
PATIENCE_S = 10.0


@pytest.mark.usefixtures("micropython_command")
async def test_pressing_the_button_lets_a_hazard_pass(tmp_path: Path) -> None:
    with BoardSim(tmp_path) as sim:
        clock = SystemClock()
        board = SerialBoard(BoardSettings(port=str(sim.port)), tmp_path, clock)
        button = Button([(board, "button")], clock)
        rule = PresenceRule(button, frozenset({Effect.HAZARD}))
        approvals = StandingApprovals(tmp_path / "standing.json", clock)
        gate = Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(tmp_path), rule)
        asked: list[str] = []

        async def types_yes(question: Question) -> Answer:
            asked.append(question.reason)
            return Answer.YES

        async with asyncio.timeout(PATIENCE_S):
            tasks = [asyncio.create_task(board.run()), asyncio.create_task(button.run())]
            while button.trouble:  # noqa: ASYNC110 - a subscription's trouble has no event
                await asyncio.sleep(0.01)
            # Pressed and let go before anything was asked
            for value in (1, 0):
                await asyncio.to_thread(sim.order, {"bounce": {"button": value}})
                await asyncio.sleep(0.1)
            call = ToolCall("1", "board_heat", "{}")
            asking = asyncio.create_task(
                gate.admit(call, Effect.HAZARD, Provenance.OWNER, types_yes)
            )
            await asyncio.sleep(0.2)
            assert not asking.done()
            assert "not enough" in asked[0]
            await asyncio.to_thread(sim.order, {"bounce": {"button": 1}})
            decision = await asking
            assert (decision.verdict, decision.rule) == (Verdict.ALLOW, "presence")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
