"""Run of the probe: each task is one turn with the tools, the gate and the prompt of the agent."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agent.app.probe.board import ProbeBoard
from agent.app.probe.meter import ProbeTimes
from agent.app.probe.tasks import TASKS, ProbeSkill, ProbeTask
from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.embeddings.base import Embedder
from agent.messages import ChatMessage, Provenance, Role
from agent.passage import configured
from agent.providers.base import Provider
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.system.clock import Clock
from agent.tools.base import ToolContext
from agent.tools.board import BoardTools
from agent.tools.registry import Registry
from agent.tools.system import TimeNowTool
from agent.turn.outcome import TurnOutcome
from agent.turn.prompt import PromptSetting, changing_prompt, stable_prompt
from agent.turn.seams import TurnSeams
from agent.turn.turn import TurnRunner

# A task needs two rounds; a third is for a repair, a fourth for a second look
MAX_ROUNDS = 5
# A model that takes longer for one sentence is of no use in a conversation
TASK_TIMEOUT_S = 240.0
# From this share of its tasks on a skill can be relied on, from the lower one with a look at it
TRUSTED_SHARE, USABLE_SHARE = 0.9, 0.6


class TaskOutcome(Struct, frozen=True):
    """One task as it was done; `fault` is empty where it was right."""

    task: ProbeTask
    fault: str


class ProbeReport(Struct, frozen=True):
    """Outcome of all tasks.

    Args:
        rounds: answers that the turns got; what was asked beyond them repaired a call.
    """

    outcomes: tuple[TaskOutcome, ...]
    times: ProbeTimes
    rounds: int

    @property
    def repairs(self) -> int:
        return max(self.times.requests - self.rounds, 0)

    def of(self, skill: ProbeSkill) -> tuple[int, int]:
        """Return right tasks and all tasks of a skill."""
        these = [one for one in self.outcomes if one.task.skill is skill]
        return sum(not one.fault for one in these), len(these)

    def trust(self, skill: ProbeSkill) -> str:
        right, every = self.of(skill)
        share = right / every if every else 0.0
        if share >= TRUSTED_SHARE:
            return "yes"
        return "with a look" if share >= USABLE_SHARE else "no"


class ModelProbe(Struct, frozen=True):
    """Probes one model.

    Args:
        provider: with everything that is around a model in a turn.
        times: filled by a `TimedProvider` next to the service.
        tell: is told of each task when it is done.
    """

    provider: Provider
    times: ProbeTimes
    clock: Clock
    embedder: Embedder | None = None
    tell: Callable[[TaskOutcome], None] = lambda _outcome: None

    async def run(self, tasks: Sequence[ProbeTask] = TASKS) -> ProbeReport:
        outcomes: list[TaskOutcome] = []
        rounds = 0
        with tempfile.TemporaryDirectory(prefix="barnacle-probe-") as folder:
            for task in tasks:
                fault, answers = await self._tried(task, Path(folder))
                outcomes.append(TaskOutcome(task, fault))
                rounds += answers
                self.tell(outcomes[-1])
        return ProbeReport(tuple(outcomes), self.times, rounds)

    async def _tried(self, task: ProbeTask, folder: Path) -> tuple[str, int]:
        """Return what is wrong, and how many answers the turn got."""
        board = task.new_board()
        try:
            async with asyncio.timeout(TASK_TIMEOUT_S):
                outcome = await self._turn(task, board, folder)
        except TimeoutError:
            return f"no answer within {TASK_TIMEOUT_S:.0f} s", 0
        said = [one for one in outcome.added if one.role is Role.ASSISTANT]
        if not outcome.is_answer:
            # What was shown before it stands in lines of its own
            return outcome.text.rstrip().rpartition("\n")[2], len(said)
        called = [call.name for one in said for call in one.tool_calls]
        return task.fault(board, called, outcome.text), len(said)

    async def _turn(self, task: ProbeTask, board: ProbeBoard, folder: Path) -> TurnOutcome:
        """Run one turn on the owner's word, as in a conversation of its own."""
        gate = Gate(
            Policy(Autonomy.FULL),
            StandingApprovals(folder / "approvals.json", self.clock),
            EmergencyStop(folder),
        )
        registry = Registry([TimeNowTool(self.clock)], [BoardTools(board).tools], self.embedder)
        runner = TurnRunner(self.provider, registry, gate, MAX_ROUNDS)
        setting = PromptSetting("Barnacle", "workspace", "terminal", has_hardware=True)
        messages = (
            ChatMessage.system(stable_prompt(setting)),
            ChatMessage.system(changing_prompt(self.clock.wall_s(), ())),
            ChatMessage.user(configured(task.sentence)),
        )
        context = ToolContext("probe", "owner", Provenance.OWNER)
        seams = TurnSeams(_no_answer, _not_shown, _nothing_before)
        return await runner.run(messages, context, Provenance.OWNER, seams)


async def _no_answer(_question: Question) -> Answer:
    return Answer.NO


async def _not_shown(_text: str, _trust: Provenance, _used_tools: bool) -> None:  # noqa: FBT001 - the seam's form
    """Nobody looks at a draft."""


async def _nothing_before() -> None:
    """Nothing has to be kept before an effect."""
