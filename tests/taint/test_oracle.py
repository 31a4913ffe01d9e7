"""Whatever tool is used and wherever a stranger's words stand: they never come in trusted more.

For every tool and every source a turn is run with a canary at the source. Whenever the canary
stands in what the model is sent, the turn must be trusted at most as the source.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

import agent.tools
from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.messages import Provenance, Role
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import AnyTool, Tool, ToolContext
from agent.tools.inquiry import InquiryAnswer
from agent.tools.registry import Registry
from agent.tools.search import ToolSearchTool
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import calls as answered_by
from tests.fakes.said import user_said
from tests.taint.fuzz import URL, calls
from tests.taint.planting import CANARY, World
from tests.taint.sources import HIDDEN, SOURCES
from tests.taint.world import world

OWNER = Provenance.OWNER
# As text, cut at either end, and as bytes are shown
_TRACES = (CANARY[:8], CANARY[-6:], b"anary".hex(" "), b"anary".hex())
TURN_LIMIT = 3


class RecordingModel(Provider):
    """Asks for prepared calls once, then is done; keeps every request."""

    name = "recording"

    def __init__(self, response: ChatResponse) -> None:
        self._response = response
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if any("Another agent" in message.text for message in request.messages):
            return self._of_another(request)
        if request.messages[-1].role is Role.USER:
            return self._response
        return ChatResponse("done", stop=StopReason.END)

    def _of_another(self, request: ChatRequest) -> ChatResponse:
        """Another agent within this turn reads a page."""
        if request.messages[-1].role is Role.USER:
            return answered_by(("web_fetch", f'{{"url": "{URL}"}}'))
        return ChatResponse(f"it says: {request.messages[-1].text}", stop=StopReason.END)

    @property
    def shown(self) -> list[Provenance]:
        """How far everything is trusted in which the canary was shown."""
        by_tools = [trust for text, trust in self._descriptions() if _holds_canary(text)]
        # What a tool is called is shown with it: the model's calls, and complaints about them,
        # only repeat it
        return by_tools or [trust for text, trust in self._messages() if _holds_canary(text)]

    def _messages(self) -> Iterator[tuple[str, Provenance]]:
        for request in self.requests:
            for message in request.messages:
                yield message.text, message.words.provenance

    def _descriptions(self) -> Iterator[tuple[str, Provenance]]:
        for request in self.requests:
            for spec in request.tools:
                schema = msgspec.json.encode(spec.parameters).decode()
                yield f"{spec.name} {spec.description} {schema}", spec.about.provenance


def _holds_canary(text: str) -> bool:
    return any(trace in text for trace in _TRACES)


@dataclass
class Tally:
    """What came of all turns."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    reached: set[tuple[str, str]] = field(default_factory=set)
    laundered: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"taint: {len(self.pairs)} pairs of tool and source, {len(self.reached)} in which the "
            f"model saw the canary, {len(self.laundered)} laundered"
        )


async def told(_question: Question) -> Answer:
    return Answer.YES


async def nothing(*_: object) -> None:
    return None


async def asked(_question: str, _trust: Provenance = Provenance.MODEL) -> InquiryAnswer:
    return InquiryAnswer(CANARY, Provenance.USER)


async def use(made: World, tool: AnyTool, tally: Tally) -> None:
    """One turn in which the model calls it in every way that its schema allows."""
    source = made.planted
    wanted = tuple(calls(tool))
    model = RecordingModel(ChatResponse("", wanted, StopReason.TOOLS))
    gate = Gate(
        Policy(Autonomy.FULL),
        StandingApprovals(made.folder / "standing.json", SteppedClock()),
        EmergencyStop(made.folder),
    )
    # Alone, so that only its own description is shown; and those that it may hand on
    named = [one for one in made.tools if one.name in {tool.name, "web_fetch"}]
    registry = Registry([*{one.name: one for one in [*named, tool]}.values()])
    runner = TurnRunner(model, registry, gate, TURN_LIMIT)
    context = ToolContext("chat", "owner", OWNER)
    seams = TurnSeams(told, nothing, nothing, asked if made.is_at("person answer") else None)
    outcome = await runner.run((user_said("go"),), context, OWNER, seams)
    tally.pairs.add((tool.name, source))
    if model.shown:
        tally.reached.add((tool.name, source))
        # Each by itself, since one call lowers the trust for all that follow; and all of them
        trust = max(*model.shown, outcome.provenance)
        if trust > SOURCES[source]:
            tally.laundered.append(f"{tool.name} shows {source} as {trust.name}")


def every_tool(made: World) -> list[AnyTool]:
    fixed = [*made.tools, *made.plugged()]
    search = ToolSearchTool(Registry(fixed).specs)
    return [*fixed, search]


def classes(kind: type[AnyTool] = Tool) -> Iterator[type[AnyTool]]:
    """Every kind of tool that can be made, of this project's own."""
    for one in kind.__subclasses__():
        yield from classes(one)
        if not inspect.isabstract(one) and one.__module__.startswith("agent."):
            yield one


def load_every_tool() -> None:
    for module in pkgutil.walk_packages(agent.tools.__path__, "agent.tools."):
        if not module.name.endswith("_program") and not module.name.endswith("mcp.bridge"):
            importlib.import_module(module.name)


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    made = Tally()
    yield made
    sys.stderr.write(f"\n{made}\n")


@pytest.mark.parametrize("source", SOURCES)
async def test_no_tool_launders_it(tmp_path: Path, source: str, tally: Tally) -> None:
    async with world(tmp_path, source) as made:
        for tool in every_tool(made):
            await use(made, tool, tally)
    found = [one for one in tally.laundered if f" shows {source} as " in one]
    assert not found, "\n".join(found)


def test_every_source_that_a_model_can_see_was_seen(tally: Tally) -> None:
    if {source for _, source in tally.pairs} != set(SOURCES):
        pytest.skip("only some of the sources were tried")
    seen = {source for _, source in tally.reached}
    assert set(SOURCES) - seen == HIDDEN


# Ways in which words once came in as if they were ours
ONCE_LAUNDERED = {
    ("web_fetch", "page content type"),
    ("web_fetch", "redirect host"),
    ("http_request", "redirect host"),
    ("file_read", "broken pdf"),
    ("git", "git settings"),
    ("board_uart_read", "board text"),
    ("board_uart_read", "board bytes"),
    ("board_mcu_temperature", "board refusal"),
    ("i2c_read", "i2c bytes"),
    ("cron_list", "job message"),
    ("cron_list", "job prompt"),
    ("watch_list", "watch words"),
    ("camera_capture", "picture complaint"),
    ("screenshot", "picture complaint"),
}


def test_what_was_laundered_once_is_looked_at(tally: Tally) -> None:
    if {source for _, source in tally.pairs} != set(SOURCES):
        pytest.skip("only some of the sources were tried")
    assert ONCE_LAUNDERED - tally.reached == set()


async def test_every_kind_of_tool_is_in_the_world(tmp_path: Path) -> None:
    load_every_tool()
    async with world(tmp_path, "") as made:
        there = {type(tool) for tool in every_tool(made)}
    assert set(classes()) - there == set()
