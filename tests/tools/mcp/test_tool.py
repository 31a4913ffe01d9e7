import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.records import parts_of, texts_of
from agent.errors import BadArguments
from agent.messages import Effect
from agent.security.policy import GateCall, Verdict
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.settings import McpSettings
from agent.tools.mcp.tool import MAX_ARGUMENTS_BYTES, McpArguments, McpTool, refuse_unfit
from agent.turn.settings import AgentSettings, RuleSettings
from tests.fakes.clock import SteppedClock

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["C", "F"]},
        "height": {"type": ["number", "null"]},
        "any": {},
        "odd": {"type": "colour"},
    },
    "required": ["place"],
}


@pytest.fixture
def tool() -> McpTool:
    settings = McpSettings(command=("weather",))
    server = McpServer("garden", settings, Path("/nowhere"), SteppedClock())
    offer = ToolOffer("garden", "forecast", "mcp_garden_forecast", "Tell it.", SCHEMA, "d" * 64)
    return McpTool(offer, server, reads=False)


def test_what_fits_is_taken_as_it_is(tool: McpTool) -> None:
    for more in ({}, {"days": 2}, {"unit": "C"}, {"height": None}, {"height": 1.5}, {"any": [{}]}):
        wanted = {"place": "Rome", "odd": 1, **more}
        assert tool.parse(json.dumps(wanted)).values == wanted


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("{}", "`place` is missing"),
        (
            '{"place": "Rome", "approved": true}',
            "unknown argument `approved`; the arguments are place, days",
        ),
        ('{"place": 5}', "`place` must be string"),
        ('{"place": "Rome", "days": true}', "`days` must be integer"),
        ('{"place": "Rome", "days": 1.5}', "`days` must be integer"),
        ('{"place": "Rome", "height": "tall"}', "`height` must be number or null"),
        ('{"place": "Rome", "unit": "K"}', "`unit` must be one of C, F"),
        ("[]", "Expected `object`"),
        ("{", "truncated"),
        ('{"place": "Rome", "any": ' + "[" * 30 + "]" * 30 + "}", "nested too deeply"),
        ('{"any": ' + "[" * 100_000, "longer than"),
        # What JSON is read to is more than may be followed
        ('{"place": "Rome", "any": ' + "[" * 700 + "]" * 700 + "}", "nested too deeply"),
        ('{"any": ' + "[" * 9000 + "]" * 9000 + "}", "nested too deeply"),
    ],
)
def test_what_does_not_fit_is_refused_before_anybody_is_asked(
    tool: McpTool, arguments: str, complaint: str
) -> None:
    with pytest.raises(BadArguments, match=complaint.replace("[", r"\[")):
        tool.parse(arguments)


def test_long_arguments_are_refused(tool: McpTool) -> None:
    with pytest.raises(BadArguments, match="longer than"):
        tool.parse(json.dumps({"place": "x" * MAX_ARGUMENTS_BYTES}))


def test_a_schema_that_takes_anything_takes_anything() -> None:
    for more in ({"additionalProperties": {"type": "string"}}, {"patternProperties": {}}):
        refuse_unfit({"approved": True}, {"properties": {}, **more})


def test_the_rules_of_the_owner_see_each_argument(tool: McpTool) -> None:
    arguments = tool.parse('{"place": "Rome", "days": 2, "any": ["ü"]}')
    assert texts_of(arguments) == {"place": "Rome", "days": "2", "any": '["ü"]'}


@pytest.mark.parametrize(
    ("name", "ruled", "asked"),
    [
        ("url", "https://a.org/private/*", "https://a.org//private/x"),
        ("url", "https://a.org/private/*", "https://a.org/%70rivate/x"),
        ("url", "https://a.org//private/*", "https://a.org/private/x"),
        ("url", "https://a.org/private/*", "HTTPS://A.ORG:443/b/../private/ü x"),
        ("url", "https://A.org/*", "https://a.org"),
        ("path", "diary/*", "./diary//may.md"),
        ("path", "./diary/*", "./diary/may.md"),
        ("folder", "/etc/*", "//etc/../etc/ssh"),
    ],
)
def test_a_rule_covers_a_url_or_path_however_it_is_written(
    tool: McpTool, name: str, ruled: str, asked: str
) -> None:
    where = {"read": RuleSettings(where={name: ruled}, verdict=Verdict.DENY)}
    [rule] = AgentSettings(rules=where).policy.rules
    call = GateCall(tool.name, Effect.NETWORK, texts_of(McpArguments({name: asked})))
    assert rule.covers(call)
    # The server gets what was written
    assert McpArguments({name: asked}).values == {name: asked}


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        ({"path": "diary/*"}, {"paths": ["a", "./diary//may.md"]}),
        ({"paths": "diary/*"}, {"paths": ["a", "./diary//may.md"]}),
        ({"url": "https://a.org/*"}, {"urls": ["https://b.org", "HTTPS://A.org:443/b"]}),
        ({"urls": "https://A.org/*"}, {"urls": ["https://b.org", "https://a.org/b"]}),
        ({"path": "diary/*"}, {"files": [{"path": "a"}, {"path": "diary/b", "content": ""}]}),
        ({"path": "diary/*"}, {"edit": {"at": {"path": "diary/b"}}}),
        ({"pin": "7"}, {"pins": [3, 7]}),
    ],
)
def test_a_rule_that_refuses_covers_what_stands_in_a_list(
    tool: McpTool, where: dict[str, str], asked: dict[str, object]
) -> None:
    called = McpArguments(asked)
    call = GateCall(tool.name, Effect.NETWORK, texts_of(called), parts_of(called))
    for verdict, covers in ((Verdict.DENY, True), (Verdict.ASK, True), (Verdict.ALLOW, False)):
        rules = {"private": RuleSettings(where=where, verdict=verdict)}
        [rule] = AgentSettings(rules=rules).policy.rules
        assert rule.covers(call) is covers


def test_always_is_offered_only_where_the_same_call_is_the_same_act(tool: McpTool) -> None:
    server = McpServer("web", McpSettings(command=("web",)), Path("/nowhere"), SteppedClock())
    click = ToolOffer("web", "click", "mcp_web_click", "Click.", SCHEMA, "d" * 64)
    assert not McpTool(click, server, reads=False).may_stand
    assert McpTool(replace(click, repeats=True), server, reads=False).may_stand
    assert not tool.may_stand


def test_a_question_names_the_server_and_binds_to_what_was_approved(tool: McpTool) -> None:
    arguments = tool.parse('{"place": "Rome"}')
    assert tool.in_words(arguments) == "call forecast of the MCP server garden"
    assert tool.binds_to(arguments).environment == {"digest": "d" * 64}
    assert tool.effect_of(arguments) is Effect.NETWORK
    assert tool.spec().parameters is SCHEMA
