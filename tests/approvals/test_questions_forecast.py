"""A question tells what a call would do; what cannot be foreseen never keeps it back."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.approvals.records import CallCircumstances
from agent.channels.base import Answer, Question
from agent.errors import BarnacleError
from agent.messages import Attachment, Effect, Provenance, ToolCall
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import Forecast
from tests.fakes.clock import SteppedClock

WORDS = "The board will do this by itself."


async def asked(tmp_path: Path, foresee: Callable[[], Awaitable[Forecast | None]]) -> Question:
    questions: list[Question] = []

    async def ask(question: Question) -> Answer:
        questions.append(question)
        return Answer.NO

    approvals = StandingApprovals(tmp_path / "standing.json", SteppedClock())
    gate = Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(tmp_path))
    around = CallCircumstances(words=WORDS, foresee=foresee)
    call = ToolCall("1", "reflex_add", "{}")
    await gate.admit(call, Effect.HAZARD, Provenance.OWNER, ask, around)
    (question,) = questions
    return question


async def test_the_forecast_and_its_picture_are_part_of_the_question(tmp_path: Path) -> None:
    picture = tmp_path / "watering.png"

    async def foresee() -> Forecast:
        return Forecast("It would have acted twice.", picture)

    question = await asked(tmp_path, foresee)
    assert question.words == f"{WORDS}\nIt would have acted twice."
    assert question.files == (Attachment(str(picture), "image/png", "watering.png"),)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (BarnacleError("the board is away"), "could not be foreseen: the board is away."),
        (RuntimeError("a bug"), "could not be foreseen; the log says why."),
        (TimeoutError(), "could not be foreseen: it took too long."),
    ],
)
async def test_a_failed_forecast_is_told_in_the_question(
    tmp_path: Path, fault: Exception, told: str
) -> None:
    async def foresee() -> Forecast:
        raise fault

    question = await asked(tmp_path, foresee)
    assert question.words == f"{WORDS}\nWhat it would do {told}"
    assert question.files == ()


async def test_a_call_without_a_forecast_is_asked_about_as_it_is(tmp_path: Path) -> None:
    async def foresee() -> None:
        return None

    assert (await asked(tmp_path, foresee)).words == WORDS
