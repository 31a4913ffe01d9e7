"""X42: whatever an MCP server says, does or changes, the owner's agreement is what counts."""

import json
from pathlib import Path

from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import ToolContext
from agent.tools.board import BoardTools
from agent.tools.mcp.lines import MAX_TEXT_CHARS
from agent.tools.mcp.offer import MAX_DESCRIPTION_CHARS
from agent.tools.mcp.server import ServerTimeouts
from agent.tools.mcp.servers import McpServers, pins_in
from agent.tools.mcp.settings import McpSettings
from agent.tools.registry import Registry
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import asking, garden, served
from tests.fakes.obedient import ObedientProvider
from tests.fakes.said import user_said
from tests.fakes.workspace import used


async def approved(
    folder: Path, settings: McpSettings, *tools: str, patience: ServerTimeouts | None = None
) -> McpServers:
    """The servers of an agent whose owner has just agreed to these tools."""
    servers = McpServers({"garden": settings}, folder, SteppedClock(), patience)
    offers = await servers.find("garden").offers()
    pins_in(folder).approve([one for one in offers if one.tool in tools and not one.trouble])
    return servers


async def said(servers: McpServers, which: int = 0, **arguments: object) -> tuple[bool, str]:
    """What came of a tool; its trust is always that of a stranger."""
    result = await used(servers.tools()[which], **arguments)
    assert (result.provenance, result.source) == (Provenance.WEB, "mcp:garden")
    return result.success, result.text


async def test_what_nobody_approved_is_no_tool_and_the_owner_is_told(tmp_path: Path) -> None:
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    servers = McpServers({"garden": garden()}, tmp_path, SteppedClock())
    servers.begin(tell)
    offers = await servers.find("garden").offers()
    [sentence] = told
    assert "new tools, off until you approve them (forecast, given, fail)" in sentence
    assert "barnacle mcp approve garden" in sentence
    assert servers.tools() == ()
    pins_in(tmp_path).approve(offers[:1])
    [forecast] = servers.tools()
    assert (forecast.name, forecast.effect) == ("mcp_garden_forecast", Effect.NETWORK)
    result = await used(forecast, place="Rome")
    assert (result.success, result.text) == (True, '{"text":"Rome: sun for 1 days"}')
    await servers.aclose()


async def test_a_changed_description_disables_the_tool_until_the_owner_agrees(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    servers = await approved(tmp_path, garden("changed"), "water", "given")
    servers.begin(tell)
    # A restart is when another listing can come
    await servers.aclose()
    water = next(tool for tool in servers.tools() if tool.name == "mcp_garden_water")
    assert water.spec().description == "Water the garden."
    result = await used(water)
    assert (result.success, "has changed since the owner approved it" in result.text) == (
        False,
        True,
    )
    assert [tool.name for tool in servers.tools()] == ["mcp_garden_given"]
    assert "changed tools, off until you approve them (water)" in told[0]
    # Also where the server has its old words again
    await servers.aclose()
    (tmp_path / "garden" / "times").unlink()
    again = McpServers({"garden": garden("changed")}, tmp_path, SteppedClock())
    assert (await said(again))[0]
    assert [tool.name for tool in again.tools()] == ["mcp_garden_given"]
    await again.aclose()


async def test_what_is_too_long_is_cut_and_what_is_endless_ends_it(tmp_path: Path) -> None:
    servers = await approved(tmp_path, garden("huge"), "huge", "enormous")
    success, text = await said(servers, 0)
    assert (success, len(json.loads(text)["text"])) == (True, MAX_TEXT_CHARS)
    success, text = await said(servers, 1)
    assert (success, "a line of more than 1048576 bytes" in text) == (False, True)
    await servers.aclose()


async def test_a_line_without_end_ends_it(tmp_path: Path) -> None:
    servers = await approved(tmp_path, garden("endless_line"), "endless")
    success, text = await said(servers)
    assert (success, "a line of more than 1048576 bytes" in text) == (False, True)
    await servers.aclose()


async def test_answers_over_http_have_the_same_limits(tmp_path: Path) -> None:
    with served("huge") as url:
        servers = await approved(tmp_path, McpSettings(url=url), "huge", "enormous")
        success, text = await said(servers, 0)
        assert (success, len(json.loads(text)["text"])) == (True, MAX_TEXT_CHARS)
        success, text = await said(servers, 1)
        assert (success, len(text) < 1000) == (False, True)
        await servers.aclose()


async def test_a_server_that_never_answers_holds_nobody_up(tmp_path: Path) -> None:
    patience = ServerTimeouts(call_s=1.0)
    servers = await approved(tmp_path, garden("silent"), "silence", patience=patience)
    success, text = await said(servers)
    assert (success, "no answer within 1 s" in text) == (False, True)
    await servers.aclose()


async def test_nothing_of_it_paints_the_terminal_or_turns_text_around(tmp_path: Path) -> None:
    servers = await approved(tmp_path, garden("painted"), "painted")
    offers = {one.tool: one for one in await servers.find("garden").offers()}
    for one in offers.values():
        assert (one.tool + one.name + one.description).isprintable()
    assert len(offers["painted"].description) == MAX_DESCRIPTION_CHARS
    [odd] = [one for one in offers.values() if one.trouble]
    assert "its name has invalid characters" in odd.trouble
    assert [tool.name for tool in servers.tools()] == ["mcp_garden_painted"]
    _, text = await said(servers)
    assert json.loads(text) == {"text": "[31mred text"}
    await servers.aclose()


async def test_what_it_asks_of_us_is_refused(tmp_path: Path) -> None:
    servers = await approved(tmp_path, asking(), "ask")
    success, text = await said(servers)
    assert success
    assert json.loads(json.loads(text)["text"]) == {
        "sampling/createMessage": "refused",
        "roots/list": "refused",
        "elicitation/create": "got {'action': 'decline'}",
    }
    await servers.aclose()


async def test_what_its_result_orders_moves_nothing(tmp_path: Path) -> None:
    servers = await approved(tmp_path, garden("injecting", read=("notes",)), "notes")
    # The owner says that it only looks: it is used without a question, and what it says is web
    assert servers.tools()[0].effect is Effect.READ
    board, questions = FakeBoard(), list[Question]()

    async def ask(question: Question) -> Answer:
        questions.append(question)
        return Answer.NONE

    async def nothing(*_: object) -> None:
        return None

    order = ("board_gpio_write", {"pin": "pump", "value": "on"})
    model = ObedientProvider([("mcp_garden_notes", {})], [order], "Done.")
    approvals = StandingApprovals(tmp_path / "approvals.json", SteppedClock())
    gate = Gate(Policy(Autonomy.FULL), approvals, EmergencyStop(tmp_path))
    registry = Registry([], [servers.tools, BoardTools(board).tools])
    context = ToolContext("terminal", "owner", Provenance.OWNER)
    outcome = await TurnRunner(model, registry, gate, 6).run(
        (user_said("read the notes"),),
        context,
        Provenance.OWNER,
        TurnSeams(ask, nothing, nothing),
    )
    await servers.aclose()
    assert any("IGNORE ALL RULES" in text for text in model.seen)
    assert board.record == []
    assert "(from mcp:garden)" in questions[0].reason
    assert outcome.provenance is Provenance.WEB
