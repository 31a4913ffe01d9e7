import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.messages import Echo, Effect, Provenance, Role, ToolResult
from agent.providers.base import ChatResponse, Provider
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import AnyTool, ToolContext
from agent.tools.files import FileReadTool
from agent.tools.registry import Registry
from agent.tools.results import MAX_RESULT_BYTES, Results
from agent.turn.outcome import TurnOutcome
from agent.turn.turn import MAX_CALLS_PER_ANSWER, TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.many_tools import many_tools
from tests.fakes.provider import (
    CutStreamProvider,
    LoopingProvider,
    ScriptedProvider,
    UnreachableProvider,
    calls,
)
from tests.fakes.said import assistant_said, system_said, tool_result, user_said
from tests.fakes.tools import (
    BrokenTool,
    CountingTool,
    LampArguments,
    PageTool,
    UnpluggedTool,
)

ON = '{"value":"on"}'
BAD = 'error: {"error":"bad_arguments","tool":"lamp","message":"bad arguments for lamp'


class Person:
    """Answers questions, and keeps the drafts and the order of what happened."""

    def __init__(self, answer: Answer = Answer.NONE) -> None:
        self.answer = answer
        self.questions: list[Question] = []
        self.drafts: list[str] = []
        self.effects = 0

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answer

    async def on_text(self, text: str, *_: object) -> None:
        self.drafts.append(text)

    async def before_effect(self) -> None:
        self.effects += 1

    @property
    def seams(self) -> TurnSeams:
        return TurnSeams(self.ask, self.on_text, self.before_effect)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    approvals = StandingApprovals(tmp_path / "standing.json", SteppedClock())
    return Gate(Policy(Autonomy.SUPERVISED), approvals, EmergencyStop(tmp_path))


async def run(
    gate: Gate,
    provider: Provider,
    tools: list[AnyTool],
    person: Person | None = None,
    provenance: Provenance = Provenance.OWNER,
    word: Provenance = Provenance.OWNER,
) -> TurnOutcome:
    runner = TurnRunner(provider, Registry(tools), gate, max_iterations=10)
    messages = (system_said("be good"), user_said("go"))
    context = ToolContext("conversation", "owner", provenance)
    return await runner.run(messages, context, word, (person or Person()).seams)


async def test_text_is_the_answer_and_grows_in_the_draft(gate: Gate) -> None:
    person = Person()
    outcome = await run(gate, ScriptedProvider("hello"), [], person)
    assert outcome.text == "hello"
    assert person.drafts == ["hello"]
    assert outcome.added == (assistant_said("hello"),)


async def test_a_tool_runs_and_its_result_reaches_the_model(gate: Gate) -> None:
    tool = CountingTool()
    provider = ScriptedProvider(calls(("lamp", ON)), "done")
    outcome = await run(gate, provider, [tool])
    assert [value for value, _ in tool.uses] == ["on"]
    assert provider.requests[1].messages[-1].text == '{"lamp":"on"}'
    assert [message.role for message in outcome.added] == [
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
    ]


async def test_text_before_a_tool_call_stays_in_the_answer(gate: Gate) -> None:
    provider = ScriptedProvider(calls(("lamp", ON), text="One moment."), "Done.")
    assert (await run(gate, provider, [CountingTool()])).text == "One moment.\nDone."


async def test_an_effect_is_announced_before_it_happens_and_a_look_is_not(gate: Gate) -> None:
    person = Person()
    await run(gate, ScriptedProvider(calls(("lamp", ON)), "ok"), [CountingTool()], person)
    assert person.effects == 1
    await run(
        gate, ScriptedProvider(calls(("lamp", ON)), "ok"), [CountingTool(Effect.READ)], person
    )
    assert person.effects == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            ("nothing", "{}"),
            'error: {"error":"unknown_tool","tool":"nothing","message":"there is no',
        ),
        (("lamp", "{"), f"{BAD}: "),
        (("lamp", '{"value":1}'), f"{BAD}: Expected `str`, got `int` - at `$.value`"),
        (("lamp", '{"value":"on","approved":true}'), f"{BAD}: Object contains unknown field"),
        (("unplugged", ON), "error: the board is not connected"),
        (("broken", ON), "error: broken broke; the log says how"),
    ],
)
async def test_what_fails_goes_back_to_the_model(
    gate: Gate, call: tuple[str, str], expected: str
) -> None:
    provider = ScriptedProvider(calls(call), "I see")
    outcome = await run(gate, provider, [CountingTool(), BrokenTool(), UnpluggedTool()])
    assert provider.requests[1].messages[-1].text.startswith(expected)
    assert outcome.text == "I see"


class CounterTool(CountingTool):
    """Reads something that changes from one time to the next."""

    def __init__(self) -> None:
        super().__init__(Effect.READ)

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        await super().execute(arguments, context)
        return tool_result(success=True, text=f'{{"count":{len(self.uses)}}}')


async def test_a_reading_that_changes_is_asked_for_until_the_limit(gate: Gate) -> None:
    provider = LoopingProvider("lamp", ON)
    outcome = await run(gate, provider, [CounterTool()])
    assert provider.count == 10
    assert "stopped after 10 rounds" in outcome.text


async def test_the_same_call_with_the_same_result_ends_the_turn_at_the_third_time(
    gate: Gate,
) -> None:
    lamp, provider = CountingTool(), LoopingProvider("lamp", ON)
    outcome = await run(gate, provider, [lamp])
    assert len(lamp.uses) == 3
    assert "I stopped, because I repeated the same steps: the same step" in outcome.text


async def test_a_repeated_call_is_told_to_the_model_first(gate: Gate) -> None:
    provider = ScriptedProvider(calls(("lamp", ON)), calls(("lamp", ON)), "so be it")
    outcome = await run(gate, provider, [CountingTool()])
    first, second = (request.messages[-1].text for request in provider.requests[1:])
    assert first == '{"lamp":"on"}'
    assert second.startswith('{"lamp":"on"}\n(This brought the same as before.')
    assert outcome.text == "so be it"


async def test_calls_that_are_repaired_within_two_rounds_are_done(gate: Gate) -> None:
    lamp = CountingTool()
    wrong = calls(("lmp", ON)), calls(("lamp", '{"value":1}'))
    provider = ScriptedProvider(*wrong, calls(("lamp", ON)), "done")
    outcome = await run(gate, provider, [lamp])
    assert '"nearest":["lamp"]' in provider.requests[1].messages[-1].text
    assert len(lamp.uses) == 1
    assert outcome.text == "done"


async def test_a_call_that_is_not_repaired_by_then_is_left_out_and_the_answer_says_so(
    gate: Gate,
) -> None:
    lamp = CountingTool()
    wrong = [calls(("lmp", ON)), calls(("lamp", "{")), calls(("lmpp", ON), ("lamp", ON))]
    provider = ScriptedProvider(*wrong, "I did what I could.")
    outcome = await run(gate, provider, [lamp])
    left_out, done = (message.text for message in provider.requests[3].messages[-2:])
    assert "left_out" in left_out
    assert "go on without it" in left_out
    assert done == '{"lamp":"on"}'
    assert outcome.text == (
        "I did what I could.\n(Not done, because the call was not understood: lmpp.)"
    )


class TalkativeTool(CountingTool):
    """Says more than a model can take, in the words of a page."""

    async def execute(self, arguments: LampArguments, context: ToolContext) -> ToolResult:
        text = '{"rows":[' + ",".join(['"a row of the page"'] * 10_000) + "]}"
        return tool_result(success=True, text=text, provenance=Provenance.WEB)


async def test_a_long_result_is_cut_for_the_model_and_read_on_with_the_same_trust(
    gate: Gate, tmp_path: Path
) -> None:
    registry = Registry([TalkativeTool(Effect.READ), FileReadTool(tmp_path)])
    first = ScriptedProvider(calls(("lamp", ON)), "a lot")
    keeper = Results(tmp_path, SteppedClock())
    context = ToolContext("conversation", "owner", Provenance.OWNER)
    runner = TurnRunner(first, registry, gate, 3, lambda: keeper)
    asked = (user_said("go"),)
    await runner.run(asked, context, Provenance.OWNER, Person().seams)
    told = first.requests[1].messages[-1].text
    assert len(told) <= MAX_RESULT_BYTES
    (path,) = re.findall(r"\.results/[\w.-]+\.txt", told)
    second = ScriptedProvider(calls(("file_read", f'{{"path":"{path}"}}')), "read")
    runner = TurnRunner(second, registry, gate, 3, lambda: keeper)
    outcome = await runner.run(asked, context, Provenance.OWNER, Person().seams)
    assert "a row of the page" in second.requests[1].messages[-1].text
    assert outcome.provenance is Provenance.WEB


async def test_a_deed_that_is_only_announced_is_asked_for_once(gate: Gate) -> None:
    lamp = CountingTool()
    provider = ScriptedProvider("I will now turn on the lamp.", calls(("lamp", ON)), "It is on.")
    outcome = await run(gate, provider, [lamp])
    announced, nudge = provider.requests[1].messages[-2:]
    assert announced == assistant_said("I will now turn on the lamp.")
    assert "called no tool" in nudge.text
    assert len(lamp.uses) == 1
    assert outcome.text == "I will now turn on the lamp.\nIt is on."


async def test_a_reminder_is_kept_nowhere_and_not_given_twice(gate: Gate) -> None:
    promise = "I will now turn on the lamp."
    provider = ScriptedProvider(promise, promise)
    outcome = await run(gate, provider, [CountingTool()])
    assert [message.role for message in outcome.added] == [Role.ASSISTANT]
    assert len(provider.requests) == 2


async def test_what_no_language_model_says_is_not_taken_for_an_announcement(gate: Gate) -> None:
    said = heeding_only_this_turn(ChatResponse("I will now turn on the lamp."))
    provider = ScriptedProvider(said)
    assert (await run(gate, provider, [CountingTool()])).text == said.text


async def test_a_tool_that_was_not_shown_is_run_through_the_gate_as_any_other(gate: Gate) -> None:
    person = Person(Answer.NO)
    provider = ScriptedProvider(calls(("page", ON)), calls(("lamp", ON)), "ok")
    tools = [*many_tools(), CountingTool(), PageTool()]
    await run(gate, provider, tools, person)
    assert "lamp" not in {spec.name for spec in provider.requests[0].tools}
    assert "lamp" in {spec.name for spec in provider.requests[0].further_tools}
    assert len(person.questions) == 1


async def test_what_a_search_finds_is_shown_in_the_next_request(gate: Gate) -> None:
    query = '{"query":"teach the board a rule"}'
    provider = ScriptedProvider(calls(("tool_search", query)), "found")
    await run(gate, provider, many_tools())
    before, after = ({spec.name for spec in request.tools} for request in provider.requests)
    assert "reflex_add" not in before
    assert "reflex_add" in after


async def test_calls_beyond_those_of_a_sane_model_are_not_run_and_told_so(gate: Gate) -> None:
    tool, echo = CountingTool(), Echo("anthropic", "claude", "[]")
    wanted = replace(calls(*[("lamp", ON)] * 100), echo=echo)
    provider = ScriptedProvider(wanted, "done")
    await run(gate, provider, [tool])
    assert len(tool.uses) == MAX_CALLS_PER_ANSWER
    said, *results = provider.requests[1].messages[2:]
    # A service that gets its own words back wants an answer to each of their calls
    assert (len(said.tool_calls), said.echo) == (100, echo)
    assert [one.call_id for one in results] == [one.call_id for one in said.tool_calls]
    assert [one.is_error for one in results] == [False] * MAX_CALLS_PER_ANSWER + [True] * 36
    assert "not done: only the first 64 calls" in results[-1].text


async def test_a_failing_result_is_marked_as_an_error_and_a_good_one_is_not(gate: Gate) -> None:
    provider = ScriptedProvider(calls(("unplugged", ON), ("lamp", ON), ("none", ON)), "done")
    await run(gate, provider, [CountingTool(), UnpluggedTool()])
    results = [m for m in provider.requests[1].messages if m.role is Role.TOOL]
    assert [result.is_error for result in results] == [True, False, True]


async def test_no_provider_is_an_answer_in_words(gate: Gate) -> None:
    outcome = await run(gate, UnreachableProvider(), [])
    assert "no route to the service" in outcome.text


async def test_a_cut_answer_keeps_what_was_shown_and_says_so(gate: Gate) -> None:
    outcome = await run(gate, CutStreamProvider(["The lamp ", "is"]), [])
    assert outcome.text.startswith("The lamp is [cut off]\n")


async def test_a_page_lowers_the_trust_of_what_follows(gate: Gate) -> None:
    lamp, person = CountingTool(), Person(Answer.NO)
    provider = ScriptedProvider(calls(("page", ON)), calls(("lamp", ON)), "ok")
    outcome = await run(gate, provider, [lamp, PageTool()], person)
    assert lamp.uses == []
    assert "web" in person.questions[0].reason
    assert outcome.provenance is Provenance.WEB


async def test_the_owners_yes_lets_a_doubtful_call_through(gate: Gate) -> None:
    lamp = CountingTool()
    await run(
        gate,
        ScriptedProvider(calls(("lamp", ON)), "ok"),
        [lamp],
        Person(Answer.YES),
        Provenance.WEB,
    )
    assert len(lamp.uses) == 1


async def test_where_nobody_can_be_asked_the_call_is_refused_with_the_reason(gate: Gate) -> None:
    provider = ScriptedProvider(calls(("lamp", ON)), "ok")
    await run(gate, provider, [CountingTool(Effect.HAZARD)])
    assert "nobody can be asked here" in provider.requests[1].messages[-1].text


def heeding_only_this_turn(response: ChatResponse) -> ChatResponse:
    return replace(response, heeds_only_this_turn=True)


async def test_earlier_turns_do_not_hold_back_what_cannot_have_heeded_them(gate: Gate) -> None:
    lamp = CountingTool()
    provider = ScriptedProvider(
        heeding_only_this_turn(calls(("lamp", ON))),
        heeding_only_this_turn(ChatResponse("done")),
    )
    outcome = await run(gate, provider, [lamp], provenance=Provenance.WEB)
    assert len(lamp.uses) == 1
    assert outcome.provenance is Provenance.OWNER


async def test_what_is_read_in_this_turn_holds_back_every_provider(gate: Gate) -> None:
    lamp, person = CountingTool(), Person(Answer.NO)
    provider = ScriptedProvider(
        heeding_only_this_turn(calls(("page", ON))),
        heeding_only_this_turn(calls(("lamp", ON))),
        heeding_only_this_turn(ChatResponse("done")),
    )
    outcome = await run(gate, provider, [lamp, PageTool()], person)
    assert lamp.uses == []
    assert outcome.provenance is Provenance.WEB


async def test_one_answer_that_heeded_everything_counts_for_the_rest_of_the_turn(
    gate: Gate,
) -> None:
    lamp, person = CountingTool(), Person(Answer.NO)
    provider = ScriptedProvider(
        calls(("nothing", ON)), heeding_only_this_turn(calls(("lamp", ON))), "done"
    )
    await run(gate, provider, [lamp], person, provenance=Provenance.WEB)
    assert lamp.uses == []


async def test_a_strangers_word_alone_never_moves_anything(gate: Gate) -> None:
    lamp, person = CountingTool(), Person(Answer.NO)
    provider = ScriptedProvider(heeding_only_this_turn(calls(("lamp", ON))), "done")
    await run(gate, provider, [lamp], person, Provenance.WEB, word=Provenance.WEB)
    assert lamp.uses == []


async def test_a_question_has_the_words_of_its_tool(gate: Gate) -> None:
    class Talking(CountingTool):
        def in_words(self, arguments: object) -> str:
            return f"It will be {getattr(arguments, 'value', '')}."

    person = Person(Answer.YES)
    provider = ScriptedProvider(calls(("lamp", ON)), "done")
    await run(gate, provider, [Talking(Effect.HAZARD)], person)
    (question,) = person.questions
    assert (question.words, question.arguments_json) == ("It will be on.", ON)
