import json

import pytest

from agent.errors import BadArguments, MemoryUnavailable
from agent.memory.base import MemoryEntry, Scope
from agent.messages import Effect, Provenance
from agent.tools.base import ToolContext
from agent.tools.datasheet import DatasheetSearchTool, place_of

CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)


def piece(content: str, source: str) -> MemoryEntry:
    return MemoryEntry(
        1, "a 1", content, "document", Provenance.TOOL, Scope(), 0.0, 0.0, 0.7, source=source
    )


class PreparedLibrary:
    def __init__(self, *pieces: MemoryEntry) -> None:
        self.pieces = list(pieces)

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        return self.pieces[:limit]


class LostLibrary:
    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        raise MemoryUnavailable("the index is gone")


async def test_pieces_come_with_file_and_page() -> None:
    tool = DatasheetSearchTool(
        PreparedLibrary(piece("3.6 V at most", "f411.pdf#page=60"), piece("on PB0", "pump.md"))
    )
    result = await tool.execute(tool.parse('{"query": "voltage"}'), CONTEXT)
    assert json.loads(result.text) == {
        "found": [
            {"source": "f411.pdf", "page": 60, "text": "3.6 V at most"},
            {"source": "pump.md", "text": "on PB0"},
        ]
    }
    assert (result.provenance, result.source) == (Provenance.TOOL, "f411.pdf#page=60")


async def test_finding_nothing_brings_no_trust_down() -> None:
    tool = DatasheetSearchTool(PreparedLibrary())
    result = await tool.execute(tool.parse('{"query": "voltage"}'), CONTEXT)
    assert (result.text, result.provenance) == ('{"found":[]}', Provenance.OWNER)


async def test_a_lost_index_is_a_result_with_its_reason() -> None:
    tool = DatasheetSearchTool(LostLibrary())
    result = await tool.execute(tool.parse('{"query": "voltage"}'), CONTEXT)
    assert (result.success, result.text) == (False, "the index is gone")


@pytest.mark.parametrize("arguments", ["{}", '{"query": ""}', '{"query": "a", "limit": 21}'])
def test_arguments_that_make_no_sense_are_refused(arguments: str) -> None:
    with pytest.raises(BadArguments):
        DatasheetSearchTool(PreparedLibrary()).parse(arguments)
    assert DatasheetSearchTool.effect is Effect.READ


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("a.pdf#page=12", ("a.pdf", 12)),
        ("a.md", ("a.md", 0)),
        ("a #page=7.md", ("a #page=7.md", 0)),
        ("#page=7", ("#page=7", 0)),
        ("a.pdf#page=²", ("a.pdf#page=²", 0)),
        ("", ("", 0)),
    ],
)
def test_a_place_is_a_file_and_perhaps_a_page(source: str, place: tuple[str, int]) -> None:
    assert place_of(source) == place
