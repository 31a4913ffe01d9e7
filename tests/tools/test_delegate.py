import json

import pytest

from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.tools.base import ToolContext
from agent.tools.delegate import MAX_TASK_CHARS, DelegateTool
from agent.tools.nested_turn import NestedAnswer, NestedOrder
from agent.tools.settings import DelegateSettings
from tests.fakes.workspace import CONTEXT

AGENTS = {
    "reader": DelegateSettings(about="reads long pages", tools=("web_fetch",), max_iterations=3),
    "poet": DelegateSettings(prompt="You rhyme.", model="hint:deep"),
}


def test_the_schema_names_the_agents_that_there_are() -> None:
    properties = DelegateTool(AGENTS).spec().parameters["properties"]
    assert isinstance(properties, dict)
    agent = properties["agent"]
    assert sorted(agent["enum"]) == ["poet", "reader"]
    assert agent["description"] == "reader (reads long pages)"


@pytest.mark.parametrize(
    "arguments",
    [
        {"agent": "other", "task": "x"},
        {"agent": "poet", "task": ""},
        {"agent": "poet", "task": "x" * (MAX_TASK_CHARS + 1)},
        {"agent": "poet", "task": "x", "tools": ["shell"]},
        {"agent": "poet", "task": "x", "approved": True},
    ],
)
def test_nothing_else_can_be_asked_for(arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        DelegateTool(AGENTS).parse(json.dumps(arguments))


async def test_the_order_is_what_the_owner_configured() -> None:
    orders: list[NestedOrder] = []

    async def nested(order: NestedOrder) -> NestedAnswer:
        orders.append(order)
        return NestedAnswer("roses", Provenance.WEB, "https://example.org")

    tool = DelegateTool(AGENTS, timeout_s=3.0)
    context = ToolContext("terminal", "owner", Provenance.OWNER, nested=nested)
    result = await tool.execute(tool.parse('{"agent":"poet","task":"rhyme"}'), context)
    assert orders == [NestedOrder("poet", "You rhyme.", "rhyme", (), "hint:deep", 5, 3.0)]
    assert json.loads(result.text) == {"agent": "poet", "answer": "roses"}
    assert (result.provenance, result.source) == (Provenance.WEB, "https://example.org")


async def test_where_no_turn_runs_nobody_can_be_asked() -> None:
    tool = DelegateTool(AGENTS)
    result = await tool.execute(tool.parse('{"agent":"poet","task":"rhyme"}'), CONTEXT)
    assert (result.success, "no other agent" in result.text) == (False, True)


def test_asking_is_no_effect_in_itself() -> None:
    assert DelegateTool(AGENTS).effect is Effect.READ
