import asyncio
import json
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.approvals.records import DecisionRecords
from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance
from agent.messaging.journal import open_agent_db
from agent.providers.base import ChatRequest, ChatResponse, Provider
from agent.security.approvals import StandingApprovals
from agent.security.audit import Audit
from agent.security.estop import EmergencyStop
from agent.security.policy import ActLimits, Autonomy, Policy
from agent.system.clock import Clock
from agent.tools.base import AnyTool, ToolContext
from agent.tools.delegate import DelegateTool
from agent.tools.registry import Registry
from agent.tools.settings import DelegateSettings
from agent.turn.delegation import MAX_ORDERS_PER_TURN
from agent.turn.outcome import TurnOutcome
from agent.turn.turn import TurnRunner, TurnScope, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import system_said, user_said
from tests.fakes.tools import CountingTool, PageTool

ON = '{"value":"on"}'
AGENTS = {
    "clerk": DelegateSettings(tools=("lamp", "page", "delegate"), prompt="You are careful."),
    "reader": DelegateSettings(tools=("pa*",), model="hint:fast"),
    "thinker": DelegateSettings(),
}


def order(agent: str, task: str = "do it") -> tuple[str, str]:
    return ("delegate", json.dumps({"agent": agent, "task": task}))


class Owner:
    """Answers questions, and keeps them and the drafts."""

    def __init__(self, answer: Answer = Answer.NO) -> None:
        self.answer = answer
        self.asked: list[Question] = []
        self.drafts: list[str] = []
        self.effects = 0

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer

    async def on_text(self, text: str, *_: object) -> None:
        self.drafts.append(text)

    async def before_effect(self) -> None:
        self.effects += 1


class House:
    """A turn with a delegate, and everything around it."""

    def __init__(self, folder: Path, policy: Policy | None = None) -> None:
        clock: Clock = SteppedClock()
        self.audit = Audit(folder / "audit", lambda text: text, clock)
        self.journal = open_agent_db(folder / "agent.db")
        self.gate = Gate(
            policy or Policy(Autonomy.SUPERVISED),
            StandingApprovals(folder / "standing.json", clock),
            EmergencyStop(folder),
            records=DecisionRecords(self.audit, self.journal, clock),
        )
        self.owner = Owner()
        self.lamp, self.page = CountingTool(), PageTool()
        self.tools: list[AnyTool] = [self.lamp, self.page, DelegateTool(AGENTS)]

    async def run(
        self,
        provider: Provider,
        trust: Provenance = Provenance.OWNER,
        within: TurnScope | None = None,
    ) -> TurnOutcome:
        runner = TurnRunner(provider, Registry(self.tools), self.gate, 10)
        seams = TurnSeams(self.owner.ask, self.owner.on_text, self.owner.before_effect)
        messages = (system_said("You are the house."), user_said("go"))
        context = ToolContext("terminal", "owner", trust)
        try:
            return await runner.run(messages, context, trust, seams, within=within)
        finally:
            await self.journal.aclose()
            self.audit.close()


def last_result(provider: ScriptedProvider) -> str:
    return provider.requests[-1].messages[-1].text


async def test_an_agent_answers_and_knows_only_its_prompt_and_its_task(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = ScriptedProvider(calls(order("reader", "what is up?")), "all is well", "It is well.")
    outcome = await house.run(provider)
    system, task = provider.requests[1].messages
    assert system.text.startswith("You are reader.")
    assert "the house" not in system.text
    assert task.text == "what is up?"
    assert last_result(provider) == '{"agent":"reader","answer":"all is well"}'
    assert outcome.text == "It is well."


async def test_it_is_asked_with_the_model_that_was_chosen_for_it(tmp_path: Path) -> None:
    provider = ScriptedProvider(calls(order("reader")), "yes", "done")
    await House(tmp_path).run(provider)
    assert [request.model for request in provider.requests] == [None, "hint:fast", None]


async def test_what_it_writes_is_not_shown_as_the_answer(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.run(ScriptedProvider(calls(order("reader")), "inner words", "outer words"))
    assert house.owner.drafts == ["outer words"]


async def test_it_has_only_those_of_the_askers_tools_that_it_was_given(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = ScriptedProvider(
        calls(order("reader")), calls(("lamp", ON)), "I have no lamp", "it has none"
    )
    await house.run(provider)
    assert [spec.name for spec in provider.requests[1].tools] == ["page"]
    assert "unknown_tool" in provider.requests[2].messages[-1].text
    assert house.lamp.uses == []


async def test_who_was_given_no_tools_has_none(tmp_path: Path) -> None:
    provider = ScriptedProvider(calls(order("thinker")), "hm", "done")
    await House(tmp_path).run(provider)
    assert provider.requests[1].tools == ()


async def test_an_agent_of_an_agent_has_no_tool_that_the_first_one_lacks(tmp_path: Path) -> None:
    house = House(tmp_path)
    agents = {
        "weak": DelegateSettings(tools=("page", "delegate")),
        "strong": DelegateSettings(tools=("*",)),
    }
    house.tools[-1] = DelegateTool(agents)
    provider = ScriptedProvider(calls(order("weak")), calls(order("strong")), "a", "b", "c")
    await house.run(provider)
    assert [spec.name for spec in provider.requests[2].tools] == ["delegate", "page"]


async def test_the_owner_is_asked_as_in_the_turn_itself(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.lamp.effect = Effect.HAZARD
    await house.run(ScriptedProvider(calls(order("clerk")), calls(("lamp", ON)), "no", "no"))
    assert [question.tool for question in house.owner.asked] == ["lamp"]
    assert house.lamp.uses == []
    assert house.owner.effects == 0


async def test_its_effects_are_effects_of_the_turn(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.run(ScriptedProvider(calls(order("clerk")), calls(("lamp", ON)), "on", "on"))
    assert [value for value, _ in house.lamp.uses] == ["on"]
    assert house.owner.effects == 1
    logs = [file.read_text() for file in (tmp_path / "audit").iterdir()]
    rows = [json.loads(line) for log in logs for line in log.splitlines()]
    turns = {row["turn"] for row in rows if "turn" in row}
    assert len(turns) == 1


async def test_readonly_holds_for_it_too(tmp_path: Path) -> None:
    house = House(tmp_path, Policy(Autonomy.READONLY))
    await house.run(ScriptedProvider(calls(order("clerk")), calls(("lamp", ON)), "no", "no"))
    assert (house.lamp.uses, house.owner.asked) == ([], [])


async def test_what_it_does_counts_for_the_limits_of_the_turn(tmp_path: Path) -> None:
    house = House(tmp_path, Policy(Autonomy.FULL, limits=ActLimits(per_turn=1)))
    provider = ScriptedProvider(
        calls(("lamp", ON)), calls(order("clerk")), calls(("lamp", '{"value":"off"}')), "no", "no"
    )
    await house.run(provider)
    assert [value for value, _ in house.lamp.uses] == ["on"]
    assert "the limit per turn is 1" in house.owner.asked[0].reason


async def test_what_it_read_lowers_the_trust_of_who_asked(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = ScriptedProvider(
        calls(order("reader")), calls(("page", ON)), "turn the lamp on", calls(("lamp", ON)), "no"
    )
    outcome = await house.run(provider)
    assert outcome.provenance is Provenance.WEB
    assert "text from the web" in house.owner.asked[0].reason
    assert house.lamp.uses == []


async def test_what_read_nothing_lowers_nothing(tmp_path: Path) -> None:
    house = House(tmp_path)
    outcome = await house.run(ScriptedProvider(calls(order("thinker")), "42", "It is 42."))
    assert outcome.provenance is Provenance.OWNER


async def test_its_trust_begins_where_that_of_the_asker_has_fallen_to(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = ScriptedProvider(
        calls(("page", ON)), calls(order("clerk")), calls(("lamp", ON)), "no", "no"
    )
    await house.run(provider)
    assert "text from the web" in house.owner.asked[0].reason
    assert house.lamp.uses == []


async def test_agents_ask_one_another_twice_and_no_deeper(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = ScriptedProvider(
        *(calls(order("clerk", f"task {n}")) for n in range(3)), "refused", "so be it", "done"
    )
    await house.run(provider)
    told = provider.requests[3].messages[-1].text
    assert told.startswith("error: delegation is limited to 2 levels")


class OrderingProvider(Provider):
    """Orders something new again and again, at whatever depth."""

    name = "ordering"

    def __init__(self) -> None:
        self.count = 0

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.count += 1
        return calls(order("clerk", f"task {self.count}"))


async def test_a_turn_asks_others_only_so_often(tmp_path: Path) -> None:
    provider = OrderingProvider()
    await House(tmp_path).run(provider)
    # The first turn has 10 rounds and an agent 5 of them; of all those turns only 8 begin
    assert provider.count <= 10 + 5 * MAX_ORDERS_PER_TURN


class SlowAgentProvider(ScriptedProvider):
    """The agent that was asked never answers; who asked does.

    Args:
        after: what it has heard last when it falls silent.
    """

    def __init__(self, *responses: ChatResponse | str, after: str = "do it") -> None:
        super().__init__(*responses)
        self._after = after

    async def chat(self, request: ChatRequest) -> ChatResponse:
        if request.messages[-1].text == self._after:
            await asyncio.Event().wait()
        return await super().chat(request)


async def test_an_agent_that_does_not_end_is_ended(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.tools[-1] = DelegateTool(AGENTS, timeout_s=0.01)
    provider = SlowAgentProvider(calls(order("thinker")), "it took too long")
    outcome = await house.run(provider)
    assert "thinker did not finish within 0.01 s" in last_result(provider)
    assert outcome.text == "it took too long"


async def test_agents_that_hang_leave_time_for_an_answer(tmp_path: Path) -> None:
    house = House(tmp_path)
    asked = calls(order("thinker"))
    provider = SlowAgentProvider(asked, asked, "they took too long")
    ends_s = asyncio.get_running_loop().time() + 1.0
    async with asyncio.timeout_at(ends_s):
        outcome = await house.run(provider, within=TurnScope(ends_s=ends_s))
    assert outcome.text == "they took too long"
    results = [one.text for one in provider.requests[-1].messages if one.tool_name]
    first_s, second_s = (float(one.partition(" s;")[0].split()[-1]) for one in results)
    # Two thirds of what is left each time
    assert 0.0 < second_s < first_s <= 0.67


async def test_what_an_agent_has_read_is_not_lost_with_it_nor_is_it_trusted_more(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)
    house.tools[-1] = DelegateTool(AGENTS, timeout_s=1.0)
    page = '{"lamp":"on"}'
    provider = SlowAgentProvider(
        *(calls(order("reader")), calls(("page", ON)), calls(("lamp", ON)), "no"), after=page
    )
    outcome = await house.run(provider)
    told = provider.requests[2].messages[-1].text
    assert "reader did not finish within 1 s" in told
    assert told.endswith(f"page: {page}")
    assert outcome.provenance is Provenance.WEB
    assert "text from the web" in house.owner.asked[0].reason


async def test_the_stop_of_the_turn_is_the_stop_of_the_agent_that_it_asked(tmp_path: Path) -> None:
    house = House(tmp_path)
    provider = SlowAgentProvider(calls(order("thinker")))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await house.run(provider)
    assert len(provider.requests) == 1
