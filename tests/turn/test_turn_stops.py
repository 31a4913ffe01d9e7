"""An answer that is not whole says so, to the person and in the history."""

from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.providers.base import ChatResponse, StopReason
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import ToolContext
from agent.tools.registry import Registry
from agent.turn.outcome import TurnOutcome
from agent.turn.turn import Provenance, TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import user_said
from tests.fakes.tools import CountingTool


async def answered(folder: Path, *responses: ChatResponse) -> TurnOutcome:
    async def nothing(*_: object) -> None:
        return None

    approvals = StandingApprovals(folder / "standing.json", SteppedClock())
    gate = Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(folder))
    runner = TurnRunner(ScriptedProvider(*responses), Registry([CountingTool()]), gate, 3)
    context = ToolContext("chat", "owner", Provenance.OWNER)
    seams = TurnSeams(nothing, nothing, nothing)  # type: ignore[arg-type]
    return await runner.run((user_said("go"),), context, Provenance.OWNER, seams)


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (ChatResponse("One, two,", stop=StopReason.LENGTH), ["One, two,", "Cut off here"]),
        (ChatResponse("", stop=StopReason.REFUSED), ["withheld the answer"]),
        (ChatResponse("It is", stop=StopReason.REFUSED), ["It is", "withheld the answer, or the"]),
        (ChatResponse(""), ["(the model gave an empty answer)"]),
        (ChatResponse("Done."), ["Done."]),
    ],
)
async def test_an_answer_that_is_not_whole_says_so(
    tmp_path: Path, response: ChatResponse, told: list[str]
) -> None:
    for before in ((), (calls(("lamp", '{"value":"on"}')),)):
        outcome = await answered(tmp_path, *before, response)
        lines = outcome.text.splitlines()
        assert len(lines) == len(told)
        assert all(words in line for words, line in zip(told, lines, strict=True))
        assert outcome.added[-1].text == outcome.text
        assert outcome.is_answer
