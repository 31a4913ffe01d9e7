import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.messages import Effect, Provenance, ToolResult
from agent.passage import own
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, PolicyRule, Verdict
from agent.tools.base import AnyTool, NoArguments, Tool, ToolContext
from agent.tools.http_request import HttpRequestTool
from agent.tools.registry import Registry
from agent.tools.web_fetch import WebFetchTool
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.pages import PreparedWeb, page, redirect
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import system_said, user_said

OPEN, CLOSED = "https://a.org/open", "https://a.org/private/diary"
PRIVATE = PolicyRule("private", "*", {"url": "https://a.org/private/*"}, Verdict.DENY)
PUMP = PolicyRule("pump", "board_*", {"pin": "pump"}, Verdict.DENY)
READ = {"web_fetch": {"url": OPEN}, "http_request": {"method": "GET", "url": OPEN}}


async def paths_asked_for(tool_name: str, rules: Sequence[PolicyRule], folder: Path) -> list[str]:
    """The paths that a turn with one call asks the web for."""
    prepared = PreparedWeb({OPEN: redirect("/private/diary"), CLOSED: page()})
    tools: list[AnyTool] = [WebFetchTool(prepared.web), HttpRequestTool(prepared.web)]
    used = next(tool for tool in tools if tool.name == tool_name)
    await ran(used, json.dumps(READ[tool_name]), tools, rules, folder)
    return [request.url.path for request in prepared.requests]


async def ran(
    tool: AnyTool,
    arguments_json: str,
    tools: Sequence[AnyTool],
    rules: Sequence[PolicyRule],
    folder: Path,
) -> None:
    """A turn with one call."""
    policy = Policy(Autonomy.FULL, tuple(rules))
    approvals = StandingApprovals(folder / "standing.json", SteppedClock())
    gate = Gate(policy, approvals, EmergencyStop(folder))
    provider = ScriptedProvider(calls((tool.name, arguments_json)), "done")
    runner = TurnRunner(provider, Registry(tools), gate, max_iterations=10)

    async def nothing(*_: object) -> None:
        return None

    seams = TurnSeams(nothing, nothing, nothing)  # type: ignore[arg-type]  # nobody is asked
    context = ToolContext("conversation", "owner", Provenance.OWNER)
    messages = (system_said("be good"), user_said("read"))
    await runner.run(messages, context, Provenance.OWNER, seams)


class Looker(Tool[NoArguments]):
    """Keeps what it is told of the owner's rules."""

    reads = Provenance.OWNER
    name = "look"
    description = own("Look.")
    effect = Effect.READ
    arguments_type = NoArguments

    def __init__(self) -> None:
        self.denied: list[bool] = []

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        self.denied += [context.denies_url(tool, CLOSED) for tool in ("web_fetch", "browser_open")]
        return ToolResult.done(own("looked"))


@pytest.mark.parametrize(("pattern", "denied"), [("*", [True, True]), ("web_*", [True, False])])
async def test_a_tool_knows_what_a_rule_denies_to_the_parts_of_a_page(
    tmp_path: Path, pattern: str, denied: list[bool]
) -> None:
    looker = Looker()
    rule = PolicyRule("private", pattern, {"url": "https://a.org/private/*"}, Verdict.DENY)
    await ran(looker, "{}", [looker], [rule], tmp_path)
    assert looker.denied == denied


@pytest.mark.parametrize("tool_name", READ)
async def test_a_redirect_leads_around_no_rule_for_urls(tool_name: str, tmp_path: Path) -> None:
    assert await paths_asked_for(tool_name, [PRIVATE], tmp_path) == ["/open"]


@pytest.mark.parametrize("tool_name", READ)
async def test_it_is_followed_where_no_rule_compares_urls(tool_name: str, tmp_path: Path) -> None:
    asked = await paths_asked_for(tool_name, [PUMP], tmp_path)
    assert asked == ["/open", "/private/diary"]
