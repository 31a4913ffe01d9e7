"""Questions that are to be looked up in datasheets and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.providers.offline.clauses import Clause
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import CallStep, Order, Step
from agent.providers.offline.toolbox import DATASHEET_SEARCH, Toolbox
from agent.providers.offline.voice import Voice

_MAX_QUERY_CHARS = 300
# More than this is a document, not an answer
_TOLD = 2
_SHOWN_CHARS = 500
_ASKING = frozenset({"question", "ask", "fact"})


def lookup(analysis: Analysis, clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Return the search that answers a question about documents."""
    if box.find(DATASHEET_SEARCH) is None:
        return None
    for clause in clauses:
        asked = clause.marks & _ASKING or clause.actions & {"read", "list"}
        if "sheet" in clause.marks and asked and "negate" not in clause.marks:
            query = analysis.text.strip()[:_MAX_QUERY_CHARS]
            return CallStep((Order(DATASHEET_SEARCH, {"query": query}),))
    return None


def pieces_told(found: object, voice: Voice) -> str:
    """Return the pieces found, each with its place; empty if none were found."""
    entries = found if isinstance(found, list) else []
    told = [_told(one, voice) for one in entries if isinstance(one, Mapping) and one.get("text")]
    return "\n".join(told[:_TOLD])


def _told(entry: Mapping[str, Any], voice: Voice) -> str:
    source = str(entry.get("source", "?"))
    page = entry.get("page")
    where = voice.say("page", source=source, page=str(page)) if page else source
    return f"{where}: {' '.join(str(entry['text']).split())[:_SHOWN_CHARS]}"
