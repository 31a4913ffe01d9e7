"""Every tool of a whole agent meets the gate, and the gate keeps its word about each effect."""

import ast
import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent
from agent.app.build import assemble
from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.errors import BadArguments
from agent.link.manifest_cache import ManifestCache
from agent.link.settings import BoardSettings
from agent.messages import Effect, Provenance, ToolResult, ToolSpec
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.settings import Paths, Settings
from agent.tools.base import NoArguments, Tool, ToolContext
from agent.tools.registry import Registry
from agent.tools.settings import SearchSettings, WebSettings
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.board import MANIFEST_JSON
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.said import tool_result, user_said

# At least these: a list that lost one of them would prove less
ACTING = {"board_gpio_write", "file_write", "memory_store", "memory_forget", "watch_add"}
ON_OWNERS_WORD = {Effect.WRITE, Effect.ACTUATE}
# They speak to a PostgreSQL server, and to nothing else
SERVERS = ("memory/postgres/", "readings/postgres/", "storage/postgres/")
OWNER, WEB = Provenance.OWNER, Provenance.WEB


class Standing(Tool[NoArguments]):
    """In the place of a tool: it does nothing but count."""

    reads = Provenance.WEB
    arguments_type = NoArguments

    def __init__(self, spec: ToolSpec) -> None:
        self.name, self.description, self.effect = spec.name, spec.about, spec.effect
        self.uses = 0

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        self.uses += 1
        return tool_result(success=True, text="{}")


class Trial:
    """One call of one tool, and what became of it."""

    def __init__(self, folder: Path, spec: ToolSpec) -> None:
        self.folder, self.spec = folder, spec
        self.asked: list[Question] = []

    def runs(self, autonomy: Autonomy, trust: Provenance, answer: Answer = Answer.NO) -> bool:
        async def ask(question: Question) -> Answer:
            self.asked.append(question)
            return answer

        async def nothing(*_: object) -> None:
            return None

        self.asked.clear()
        tool = Standing(self.spec)
        approvals = StandingApprovals(self.folder / "standing.json", SteppedClock())
        gate = Gate(Policy(autonomy), approvals, EmergencyStop(self.folder))
        provider = ScriptedProvider(calls((self.spec.name, "{}")), "done")
        runner = TurnRunner(provider, Registry([tool]), gate, 3)
        context = ToolContext("c", "owner", trust)
        seams = TurnSeams(ask, nothing, nothing)
        asyncio.run(runner.run((user_said("go"),), context, trust, seams))
        return tool.uses == 1


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Every tool of an agent that has seen a board and may search the web."""
    paths = Paths(None, tmp_path_factory.mktemp("state"))
    ManifestCache(paths.board_folder(BoardSettings())).put(MANIFEST_JSON)
    root, log = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    web = WebSettings(search={"duckduckgo": SearchSettings()})
    whole = assemble(Settings(web=web), paths, {}, log)
    try:
        yield whole.registry
    finally:
        asyncio.run(whole.aclose())
        root.handlers[:] = handlers
        root.setLevel(level)


@pytest.fixture(scope="module")
def specs(registry: Registry) -> tuple[ToolSpec, ...]:
    return registry.specs()


@pytest.fixture
def trials(specs: tuple[ToolSpec, ...], tmp_path: Path) -> list[Trial]:
    return [Trial(tmp_path, spec) for spec in specs if spec.effect is not Effect.READ]


def test_the_list_is_whole(specs: tuple[ToolSpec, ...]) -> None:
    acting = {spec.name for spec in specs if spec.effect is not Effect.READ}
    assert acting >= ACTING


@pytest.mark.parametrize("field", ["approved", "confirmed", "force", "always", "question_id"])
def test_no_tool_knows_a_field_that_would_answer_for_the_owner(
    registry: Registry, specs: tuple[ToolSpec, ...], field: str
) -> None:
    for spec in specs:
        tool = registry.find(spec.name)
        assert tool
        with pytest.raises(BadArguments, match=f"unknown field `{field}`"):
            tool.parse(json.dumps({field: True}))
        assert field not in json.dumps(spec.parameters.get("properties")), spec.name


@pytest.mark.parametrize("trust", [OWNER, WEB])
def test_readonly_refuses_every_effect_unasked(trials: list[Trial], trust: Provenance) -> None:
    for trial in trials:
        assert not trial.runs(Autonomy.READONLY, trust, Answer.YES), trial.spec.name
        assert trial.asked == []


def test_supervised_obeys_the_owner_in_what_is_harmless_and_asks_for_the_rest(
    trials: list[Trial],
) -> None:
    for trial in trials:
        is_harmless = trial.spec.effect in ON_OWNERS_WORD
        assert trial.runs(Autonomy.SUPERVISED, OWNER) == is_harmless, trial.spec.name
        assert bool(trial.asked) != is_harmless
        assert trial.runs(Autonomy.SUPERVISED, OWNER, Answer.YES), trial.spec.name


@pytest.mark.parametrize("autonomy", [Autonomy.SUPERVISED, Autonomy.FULL])
def test_what_somebody_else_wrote_does_nothing_without_the_owner(
    trials: list[Trial], autonomy: Autonomy
) -> None:
    for trial in trials:
        assert not trial.runs(autonomy, WEB), trial.spec.name
        assert len(trial.asked) == 1
        assert "text from the web" in trial.asked[0].reason


def test_a_tool_is_executed_in_one_place_only() -> None:
    root = Path(agent.__file__).parent
    # A tool's is awaited; of the databases only those of a server are
    found = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Await) and _is_execute(node.value)
    ]
    places = [place for place in found if not place.startswith(SERVERS)]
    assert places == ["turn/execution.py"]


def test_that_place_is_reached_through_the_gate_only() -> None:
    root = Path(agent.__file__).parent
    users = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(_takes_execution(node) for node in ast.walk(ast.parse(path.read_text())))
    ]
    assert users == ["turn/turn.py"]
    tree = ast.parse((root / "turn" / "turn.py").read_text())
    # By its name alone: what is called elsewhere under another name is found as well
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "execute"]
    assert len(uses) == 1
    (body,) = (
        ast.unparse(function)
        for function in ast.walk(tree)
        if isinstance(function, ast.AsyncFunctionDef) and uses[0] in ast.walk(function)
    )
    assert body.startswith("async def _use_tool(")
    assert body.index("self._gate.admit(") < body.index("is not Verdict.ALLOW")
    assert body.index("is not Verdict.ALLOW") < body.index("await execute(tool")


def _takes_execution(node: ast.AST) -> bool:
    """Return whether it imports the function, or the module that it could be taken from."""
    if isinstance(node, ast.Import):
        return any(one.name == "agent.turn.execution" for one in node.names)
    if not isinstance(node, ast.ImportFrom):
        return False
    names = {one.name for one in node.names}
    if node.module == "agent.turn.execution":
        return bool(names & {"execute", "*"})
    return node.module == "agent.turn" and "execution" in names


def _is_execute(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "execute"
    )
