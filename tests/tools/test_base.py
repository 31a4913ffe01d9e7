import contextlib
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from agent.errors import BadArguments
from agent.messages import Effect, Provenance, ToolResult
from agent.passage import own
from agent.tools.base import MAX_ARGUMENTS_BYTES, Arguments, NoArguments, Tool, ToolContext
from tests.fakes.said import tool_result


class DimArguments(Arguments, frozen=True):
    pin: str
    percent: Annotated[int, Meta(ge=0, le=100)] = 100
    extras: dict[str, list[int]] = msgspec.field(default_factory=dict)


class DimTool(Tool[DimArguments]):
    reads = Provenance.WEB
    name = "dim"
    description = own("Dims a lamp.")
    effect = Effect.ACTUATE
    arguments_type = DimArguments

    async def execute(self, arguments: DimArguments, context: ToolContext) -> ToolResult:
        return tool_result(success=True, text=arguments.pin)


class NothingTool(DimTool):
    arguments_type = NoArguments


TOOL = DimTool()


def test_arguments_are_typed_and_have_their_defaults() -> None:
    assert TOOL.parse('{"pin":"灯"}') == DimArguments("灯", 100)
    assert TOOL.parse('{"percent":0,"pin":"led"}') == DimArguments("led", 0)


def test_a_tool_without_arguments_takes_nothing_at_all() -> None:
    tool = NothingTool()
    assert tool.parse("") == NoArguments()
    assert tool.parse("{}") == NoArguments()
    with pytest.raises(BadArguments, match="unknown field `pin`"):
        tool.parse('{"pin":"led"}')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "missing required field `pin`"),
        ("{}", "missing required field `pin`"),
        ('{"pin":7}', r"Expected `str`, got `int` - at `\$.pin`"),
        ('{"pin":"led","percent":101}', r"\$.percent"),
        ('{"pin":"led","percent":"50"}', r"\$.percent"),
        ('{"pin":"led","percent":true}', r"\$.percent"),
        ('{"pin":"led","approved":true}', "unknown field `approved`"),
        ('["led"]', "Expected `object`"),
        ("null", "Expected `object`"),
        ('{"pin":"led"', "truncated"),
        ("{'pin': 'led'}", "malformed"),
        ('{"pin":"led"} and more', "malformed"),
        ('{"pin":"\ud800"}', "surrogates not allowed"),
        ('{"pin":NaN}', "malformed"),
        ('{"pin":"' + "x" * MAX_ARGUMENTS_BYTES + '"}', f"longer than {MAX_ARGUMENTS_BYTES} bytes"),
    ],
)
def test_what_does_not_fit_is_told_such_that_a_model_can_repair_it(
    arguments: str, said: str
) -> None:
    with pytest.raises(BadArguments, match=said):
        TOOL.parse(arguments)


def test_arguments_nested_beyond_reason_are_refused_like_any_other() -> None:
    class Loose(Arguments, frozen=True):
        anything: Any

    class LooseTool(DimTool):
        arguments_type = Loose

    with pytest.raises(BadArguments, match="nested too deeply"):
        LooseTool().parse('{"anything":' + "[" * 20_000)


@given(st.text(max_size=100))
def test_no_text_breaks_the_parser(text: str) -> None:
    with contextlib.suppress(BadArguments):
        assert isinstance(TOOL.parse(text), DimArguments)


def test_what_a_model_is_told() -> None:
    spec = TOOL.spec()
    assert (spec.name, spec.description, spec.effect) == ("dim", "Dims a lamp.", Effect.ACTUATE)
    assert spec.parameters["required"] == ["pin"]
