"""Orders and questions about a memory's source: "who told you that", "forget that page".

Which memory or page is meant is taken from what was shown in earlier turns, and asked where it may
be several; its text is only ever compared and quoted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.providers.offline.conversation import ConversationTurn, Exchange, table_of
from agent.providers.offline.memory_answers import memories_of
from agent.providers.offline.memory_orders import SOURCE, recall
from agent.providers.offline.pieces import Analysis, Piece, analyse
from agent.providers.offline.plan import (
    MAX_OPTIONS,
    CallDraft,
    CallStep,
    Need,
    Order,
    Reason,
    ReplyOption,
    SayStep,
    Step,
    settle,
    step_of,
)
from agent.providers.offline.relevance import matches
from agent.providers.offline.toolbox import (
    MEMORY_FORGET,
    MEMORY_LIST,
    MEMORY_RECALL,
    MEMORY_SOURCE,
    Choice,
    Profile,
    Toolbox,
    name_of,
)
from agent.providers.offline.units import UnitKind

_ADDRESS = re.compile(r"https?://[^\s<>\"'，。、）)]{1,500}")
# How the tool that reads files names them as sources
_FILE = "file:"
# Spoken around a question for the source
_AROUND = frozenset(
    {"source", "stop", "request", "filler", "amend", "state", "particle", "greet", "self"}
)


def about_origin(analysis: Analysis, box: Toolbox, past: Sequence[ConversationTurn]) -> Step | None:
    """Return the step for an order or a question about a memory's source."""
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    if "forget" in senses and "negate" not in senses:
        return _forget_from(analysis, senses, box, past)
    if "source" in senses and box.find(MEMORY_SOURCE) is not None:
        return _source(analysis, box, past)
    return None


def _source(analysis: Analysis, box: Toolbox, past: Sequence[ConversationTurn]) -> Step | None:
    about = [piece for piece in analysis.pieces if _weighs(piece)]
    if about:
        text = analysis.text[about[0].start : about[-1].end]
        return recall(box, text, SOURCE)
    for turn in reversed(past):
        shown = [one for one in turn.exchanges if one.order.tool in {MEMORY_RECALL, MEMORY_LIST}]
        keys = [key for one in shown for key in _keys_told(turn, one, analysis.code)]
        if len(keys) == 1:
            return CallStep((Order(MEMORY_SOURCE, {"key": keys[0]}),), earlier=True)
        if shown:
            break
    return SayStep("source_of_which")


def _weighs(piece: Piece) -> bool:
    spoken = piece.kind is not UnitKind.MARK
    return spoken and not (piece.known and _AROUND.issuperset(piece.senses))


def _keys_told(turn: ConversationTurn, shown: Exchange, code: str) -> list[str]:
    """Return the keys of the memories that answered a question."""
    memories = memories_of(shown.result)
    if len(memories) <= 1 or shown.order.tool == MEMORY_LIST:
        return [memory.key for memory in memories]
    found = matches(analyse(turn.text, code), memories)
    return [one.memory.key for one in found if one.share >= found[0].share]


def _forget_from(
    analysis: Analysis, senses: set[str], box: Toolbox, past: Sequence[ConversationTurn]
) -> Step | None:
    profile = box.find(MEMORY_FORGET)
    if profile is None or "source" not in [one.name for one in profile.parameters]:
        return None
    named = _named(analysis)
    if named and not senses.isdisjoint({"all", "there"}):
        return CallStep((Order(MEMORY_FORGET, {"source": named}),))
    if "there" not in senses:
        return None
    for turn in reversed(past):
        sources = list(dict.fromkeys(_sources(turn)))
        if sources:
            return _forget_one_of(sources, profile)
    return SayStep("forget_from_which")


def _named(analysis: Analysis) -> str:
    """Return the source that the message names: an address, or a file."""
    address = _ADDRESS.search(analysis.text)
    path = next((piece for piece in analysis.pieces if piece.kind is UnitKind.PATH), None)
    if address is not None:
        return address[0].rstrip(".,;:!?")
    return "" if path is None else f"{_FILE}{analysis.text[path.start : path.end]}"


def _forget_one_of(sources: Sequence[str], profile: Profile) -> Step:
    drafts = [CallDraft(profile, {"source": source}) for source in sources[:MAX_OPTIONS]]
    if len(drafts) == 1:
        return CallStep(
            tuple(one for one in [settle(drafts[0])] if isinstance(one, Order)), earlier=True
        )
    options = tuple(
        ReplyOption(Choice(None, source, name_of(source)), (draft,))
        for source, draft in zip(sources, drafts, strict=False)
    )
    return step_of((Need(Reason.FORGET_WHICH, options),))


def _sources(turn: ConversationTurn) -> Iterator[str]:
    """Yield the pages and files that a turn showed."""
    for exchange in turn.exchanges:
        result = table_of(exchange.result)
        path = exchange.order.arguments.get("path")
        if isinstance(path, str) and isinstance(result.get("text"), str):
            yield _FILE + path
        yield from _told_sources(result)


def _told_sources(result: Mapping[str, Any]) -> Iterator[str]:
    memories = result.get("memories")
    for entry in (result, *(memories if isinstance(memories, list) else ())):
        source = entry.get("source") if isinstance(entry, Mapping) else None
        if isinstance(source, str) and source and source.isprintable() and "key" in entry:
            yield source
