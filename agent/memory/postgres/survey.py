"""Survey of a shared brain, in numbers."""

from agent.memory.base import MemoryStats
from agent.memory.postgres.rows import restored
from agent.memory.postgres.schema import Connection
from agent.messages import Provenance

_TOTALS = """
SELECT count(*) FILTER (WHERE superseded_by IS NULL),
    count(*) FILTER (WHERE superseded_by IS NOT NULL), count(*) FILTER (WHERE pinned),
    pg_total_relation_size('memories') FROM memories
"""
_KINDS = """
SELECT category, provenance, count(*) FROM memories WHERE superseded_by IS NULL GROUP BY 1, 2
"""


async def survey(connection: Connection, name: str) -> MemoryStats:
    """The numbers of everybody's memories together."""
    totals = await (await connection.execute(_TOTALS)).fetchone()
    assert totals is not None
    kept, superseded, pinned, size_bytes = (int(str(number)) for number in totals)
    categories: dict[str, int] = {}
    provenances: dict[Provenance, int] = {}
    for category, provenance, number in await (await connection.execute(_KINDS)).fetchall():
        named = restored(category)
        said = Provenance.__members__.get(str(provenance).upper(), Provenance.WEB)
        categories[named] = categories.get(named, 0) + int(str(number))
        provenances[said] = provenances.get(said, 0) + int(str(number))
    return MemoryStats(name, kept, superseded, pinned, size_bytes, categories, provenances)
