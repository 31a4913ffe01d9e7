"""A question answered at the device: the gate, the link and the firmware with its button."""

import asyncio
from pathlib import Path

import pytest

from agent.approvals.button import Button, PresenceRule
from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.messages import Effect, Provenance, ToolCall
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, Verdict
from agent.system.clock import SystemClock
from tests.fakes.board_sim import BoardSim
from tests.waits import PATIENCE_S, stays, wait_until


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
            await wait_until(lambda: not button.trouble)
            # Pressed and let go before anything was asked
            for value in (1, 0):
                await asyncio.to_thread(sim.order, {"bounce": {"button": value}})
                await asyncio.sleep(0.1)
            call = ToolCall("1", "board_heat", "{}")
            asking = asyncio.create_task(
                gate.admit(call, Effect.HAZARD, Provenance.OWNER, types_yes)
            )
            await wait_until(lambda: asked)
            await stays(lambda: not asking.done(), 0.2)
            assert "not enough" in asked[0]
            await asyncio.to_thread(sim.order, {"bounce": {"button": 1}})
            decision = await asking
            assert (decision.verdict, decision.rule) == (Verdict.ALLOW, "presence")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
