"""Where the least trusted words of a turn came from, for what is remembered of it."""

import pytest

from agent.messages import Provenance, ToolResult
from agent.tools.base import ToolContext
from agent.turn.execution import lowered
from tests.fakes.said import tool_result

BEGIN = ToolContext("terminal_owner", "owner", Provenance.OWNER)


def read(provenance: Provenance, source: str = "") -> ToolResult:
    return tool_result(success=True, text="words", provenance=provenance, source=source)


@pytest.mark.parametrize(
    ("results", "provenance", "source"),
    [
        ([], Provenance.OWNER, "chat"),
        ([read(Provenance.OWNER)], Provenance.OWNER, "chat"),
        ([read(Provenance.WEB, "page")], Provenance.WEB, "page"),
        ([read(Provenance.WEB, "page"), read(Provenance.TOOL, "file")], Provenance.WEB, "page"),
        ([read(Provenance.TOOL, "file"), read(Provenance.WEB, "page")], Provenance.WEB, "page"),
        ([read(Provenance.WEB, "page"), read(Provenance.WEB)], Provenance.WEB, "page"),
        ([read(Provenance.WEB, "page"), read(Provenance.WEB, "other")], Provenance.WEB, "other"),
    ],
)
def test_the_least_trusted_source_is_kept(
    results: list[ToolResult], provenance: Provenance, source: str
) -> None:
    context = BEGIN
    for result in results:
        context = lowered(context, result.words)
    assert (context.provenance, context.source) == (provenance, source)
