from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.gate import Gate
from agent.channels.base import Answer
from agent.errors import ProviderError
from agent.messages import ChatMessage, Effect, Provenance
from agent.providers.base import ChatRequest, ChatResponse
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import ToolContext
from agent.tools.registry import Registry
from agent.turn.cross_check import trust_without_memories
from agent.turn.outcome import TurnOutcome
from agent.turn.turn import TurnRunner
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import user_said, words
from tests.fakes.tools import CountingTool, PageTool
from tests.turn.test_turn import Person

ON, OFF = calls(("lamp", '{"value":"on"}')), calls(("lamp", '{"value":"off"}'))
NOTE = replace(ChatMessage.system(words("60 s", Provenance.MODEL)), is_recalled=True)
CONTEXT = ToolContext("conversation", "owner", Provenance.MODEL)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    approvals = StandingApprovals(tmp_path / "standing.json", SteppedClock())
    return Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(tmp_path))


class Sensor(CountingTool):
    name = "sensor"


async def run(
    gate: Gate,
    provider: ScriptedProvider,
    *more: CountingTool,
    earlier: Provenance = Provenance.OWNER,
) -> tuple[CountingTool, Person, TurnOutcome]:
    lamp, person = CountingTool(), Person(Answer.NO)
    runner = TurnRunner(provider, Registry([lamp, *more]), gate, max_iterations=10)
    first = ChatMessage.system(words("earlier", earlier))
    messages = (first, NOTE, user_said("the lamp on, please"))
    context = replace(CONTEXT, provenance=min(earlier, CONTEXT.provenance))
    outcome = await runner.run(messages, context, Provenance.OWNER, person.seams)
    return lamp, person, outcome


async def test_the_same_act_without_the_memory_is_the_persons_own(gate: Gate) -> None:
    provider = ScriptedProvider(ON, ON, "Done.")
    lamp, person, outcome = await run(gate, provider)
    assert [context.provenance for _, context in lamp.uses] == [Provenance.OWNER]
    assert (person.questions, outcome.text) == ([], "Done.")
    assert (outcome.provenance, outcome.is_recalled) == (Provenance.OWNER, False)
    # From the check on the memory is no part of the turn
    assert [NOTE in request.messages for request in provider.requests] == [True, False, False]


@pytest.mark.parametrize("other", [OFF, calls(), ChatResponse("Shall I?")])
async def test_another_answer_without_it_is_the_memorys_doing(
    gate: Gate, other: ChatResponse
) -> None:
    lamp, person, outcome = await run(gate, ScriptedProvider(ON, other, "I did not."))
    assert (len(lamp.uses), len(person.questions)) == (0, 1)
    assert (outcome.provenance, outcome.is_recalled) == (Provenance.MODEL, True)


async def test_what_the_memory_led_to_goes_on_being_asked(gate: Gate) -> None:
    lamp, person, _ = await run(gate, ScriptedProvider(ON, "No.", OFF, "I did neither."))
    assert (len(lamp.uses), len(person.questions)) == (0, 2)


async def test_a_look_before_the_act_is_taken_again(gate: Gate) -> None:
    page = Sensor(Effect.READ)
    look = calls(("sensor", '{"value":"x"}'))
    provider = ScriptedProvider(look, ON, look, ON, "Done.")
    lamp, person, _ = await run(gate, provider, page)
    assert (len(page.uses), len(lamp.uses), person.questions) == (2, 1, [])


async def test_a_page_that_was_read_meanwhile_counts(gate: Gate) -> None:
    page = PageTool()
    look = calls(("page", '{"value":"x"}'))
    lamp, person, _ = await run(gate, ScriptedProvider(look, ON, look, ON, "No."), page)
    assert (len(lamp.uses), len(person.questions)) == (0, 1)


async def test_no_answer_to_the_check_leaves_the_question(gate: Gate) -> None:
    class Once(ScriptedProvider):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            if len(self.requests) == 1:
                self.requests.append(request)
                raise ProviderError("gone")
            return await super().chat(request)

    lamp, person, _ = await run(gate, Once(ON, "I did not."))
    assert (len(lamp.uses), len(person.questions)) == (0, 1)


async def test_nothing_is_checked_where_the_rest_is_no_better(gate: Gate) -> None:
    provider = ScriptedProvider(ON, "I did not.")
    _, person, _ = await run(gate, provider, earlier=Provenance.WEB)
    assert (len(provider.requests), len(person.questions)) == (2, 1)


async def test_the_draft_does_not_show_the_check(gate: Gate) -> None:
    led = replace(ON, text="A moment.")
    _, person, outcome = await run(gate, ScriptedProvider(led, led, "Done."))
    assert person.drafts == ["A moment.", "A moment.\nDone."]
    assert outcome.text == "A moment.\nDone."


def test_trust_without_memories_is_the_lowest_of_the_rest() -> None:
    web = ChatMessage.user(words("a page", Provenance.WEB))
    owner = user_said("go")
    assert trust_without_memories([owner], CONTEXT, Provenance.OWNER) is None
    clean = trust_without_memories([NOTE, owner], CONTEXT, Provenance.OWNER)
    assert clean is not None
    assert clean.provenance is Provenance.OWNER
    dirty = trust_without_memories([NOTE, web, owner], CONTEXT, Provenance.OWNER)
    assert dirty is not None
    assert dirty.provenance is Provenance.WEB
