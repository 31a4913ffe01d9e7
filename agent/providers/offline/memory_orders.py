"""Orders and questions about memory: remember this, forget that, what was it?

A person's own words are kept as they were said, without the words of the command.
"""

from collections.abc import Sequence
from typing import Any

from agent.providers.offline.clauses import Clause
from agent.providers.offline.pieces import Analysis, Piece
from agent.providers.offline.plan import CallDraft, CallStep, Order, Step, settle_text
from agent.providers.offline.toolbox import (
    MEMORY_LIST,
    MEMORY_RECALL,
    MEMORY_STORE,
    Toolbox,
)

RECALL = "recall"
FORGET = "forget"
LIST = "list"
SOURCE = "source"
UNWATCH = "unwatch"

# More would not be looked at, and a question is shorter
_MAX_QUERY_CHARS = 300
# The newest memories, when somebody asks for all of them
_LISTED = 20
# `*` asks the store for its newest
_EVERYTHING = "*"

_EDGES = " \t\r\n,:;，：；、,。.!！"
_LEADING = " \t\r\n,:;，：；、"
# The particle of a quotation, and what may stand before it
_KOREAN_QUOTE = "라고"
_KOREAN_COPULA = "이"
# Syllables are laid out in Unicode as blocks of 28: without, then with each final consonant
_SYLLABLES_PER_VOWEL = 28
_QUOTES = '"“”„«»「」『』'


def about_memory(analysis: Analysis, box: Toolbox) -> Step | None:
    """Return the step for an order or a question that is plainly about memory."""
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    asked = any("?" in piece.text for piece in analysis.pieces)
    if "known" in senses and (asked or senses.isdisjoint({"remember", "forget"})):
        return _list(box) or recall(box, _EVERYTHING, LIST)
    if "recall" in senses and (asked or "remember" not in senses):
        return recall(box, analysis.text, RECALL)
    command = _command(analysis)
    if command is None:
        return None
    sense = "remember" if "remember" in command.senses else "forget"
    content = _content(analysis, command)
    if sense == "forget":
        return recall(box, content, FORGET) if content else None
    if asked and analysis.text.rstrip().endswith(("?", "？")):
        return recall(box, analysis.text, RECALL)
    return _store(box, content)


def asks_memory(analysis: Analysis, clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Return the search for a question that no tool answers and memory may answer."""
    for clause in clauses:
        asking = clause.marks & {"question", "ask", "fact"}
        if asking and (clause.things or clause.unknown):
            return recall(box, analysis.text, RECALL)
    return None


def _command(analysis: Analysis) -> Piece | None:
    """Return the words that order remembering or forgetting."""
    found = [p for p in analysis.pieces if not {"remember", "forget"}.isdisjoint(p.senses)]
    return found[0] if found else None


def _content(analysis: Analysis, command: Piece) -> str:
    """Return the text of the command: after it, or before it if the verb comes last."""
    after = analysis.text[command.end :]
    behind = [p for p in analysis.pieces if p.start >= command.end]
    if any(
        not {"request", "filler", "stop", "amend"}.issuperset(p.senses) or not p.senses
        for p in _words(behind)
    ):
        return after.lstrip(_LEADING).strip().strip(_QUOTES)
    before = analysis.text[: command.start].strip(_EDGES).strip(_QUOTES)
    return _without_copula(before) if command.text.startswith(_KOREAN_QUOTE) else before


def _without_copula(said: str) -> str:
    """Remove the 이 that Korean puts between a noun ending in a consonant and 라고."""
    noun, last = said[:-1], said[-1:]
    if last != _KOREAN_COPULA or not noun or not "\uac00" <= noun[-1] <= "\ud7a3":
        return said
    ends_in_consonant = (ord(noun[-1]) - 0xAC00) % _SYLLABLES_PER_VOWEL
    return noun if ends_in_consonant else said


def _words(pieces: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.senses or piece.text.isalnum()]


def _store(box: Toolbox, content: str) -> Step | None:
    profile = box.find(MEMORY_STORE)
    if profile is None:
        return None
    return settle_text(CallDraft(profile, {}), "content", content)


def _list(box: Toolbox) -> Step | None:
    return CallStep((Order(MEMORY_LIST, {}),)) if box.find(MEMORY_LIST) else None


def recall(box: Toolbox, query: str, purpose: str) -> Step | None:
    """Return the search for memories, and its purpose."""
    profile = box.find(MEMORY_RECALL)
    if profile is None:
        return None
    arguments: dict[str, Any] = {"query": query.strip()[:_MAX_QUERY_CHARS]}
    limit = next((one for one in profile.parameters if one.name == "limit"), None)
    if purpose == LIST and limit is not None:
        most = _LISTED if limit.maximum is None else min(_LISTED, int(limit.maximum))
        arguments["limit"] = most
    return CallStep((Order(profile.name, arguments),), purpose)
