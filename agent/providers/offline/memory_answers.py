"""Answers from recalled memories, and orders to forget them."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.providers.offline.clauses import Clause, clauses_of
from agent.providers.offline.conversation import table_of
from agent.providers.offline.documents import pieces_told
from agent.providers.offline.language import detect
from agent.providers.offline.memory_orders import LIST
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import (
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
from agent.providers.offline.relevance import CLEAR, FAINT, Match, RecalledMemory, matches
from agent.providers.offline.timed_tokens import sentence_of
from agent.providers.offline.toolbox import MEMORY_FORGET, MEMORY_SOURCE, Choice, Toolbox, name_of
from agent.providers.offline.voice import Voice

# More than this in one answer is a list, not an answer
_TOLD = 3
_LISTED = 20
# A memory in an answer is shown up to here
_SHOWN_CHARS = 500
# Category of what was said and not asked to be remembered
_PASSING = "conversation"
_ASKING = frozenset({"question", "ask", "unwatch", "watch"})
# What is scheduled, and what is done with it
_SCHEDULED = frozenset({"timer", "timers", "remind", "reminder", "reminders", "job", "jobs"})
_SCHEDULING = frozenset({"start", "cancel", "add", "pause", "resume", "remind"})
# Who says these tells of a deed, and orders none
_TOLD_OF = frozenset({"past", "report", "state"})


def memories_of(result: str) -> list[RecalledMemory]:
    """Return what memories in the result of a recall tell, whatever else it holds."""
    found = table_of(result).get("memories")
    entries = found if isinstance(found, list) else []
    return [
        RecalledMemory(str(entry["key"]), str(entry["content"])[:_SHOWN_CHARS])
        for entry in entries
        if isinstance(entry, Mapping) and "key" in entry and "content" in entry
        if entry.get("category") != _PASSING or _tells(str(entry["content"])[:_SHOWN_CHARS])
    ]


def _tells(message: str) -> bool:
    """Return false for a message that only asked or ordered something: it answers nothing."""
    analysis = analyse(message, detect(message))
    tags = sentence_of(message, analysis.code).tags
    if tags & _SCHEDULED and tags & _SCHEDULING:
        return False
    return any(not (one.marks & _ASKING or _orders(one)) for one in clauses_of(analysis))


def _orders(clause: Clause) -> bool:
    return bool(clause.actions) and not clause.marks & _TOLD_OF


def told(text: str, result: str, purpose: str, voice: Voice) -> SayStep:
    """Return the answer to a question about memories."""
    memories = memories_of(result)
    if purpose == LIST:
        lines = [f"- {memory.content}" for memory in memories[:_LISTED]]
        return (
            SayStep("known", {"memories": "\n".join(lines)}) if lines else SayStep("nothing_known")
        )
    found = matches(analyse(text, voice.code), memories)
    if not found or found[0].share < FAINT:
        pieces = pieces_told(table_of(result).get("documents"), voice)
        return (
            SayStep("in_documents", {"pieces": pieces}) if pieces else SayStep("nothing_remembered")
        )
    key = "told" if found[0].share >= CLEAR else "nearest"
    best = [one for one in found if one.share >= found[0].share][:_TOLD]
    contents = [one.memory.content for one in best]
    return SayStep(key, {"memories": " · ".join(contents)})


def source_asked(query: str, result: str, voice: Voice) -> Step:
    """Ask for the source of the one memory that is meant."""
    found = matches(analyse(query, voice.code), memories_of(result))
    if not found or found[0].share < FAINT:
        return SayStep("nothing_remembered")
    return CallStep((Order(MEMORY_SOURCE, {"key": found[0].memory.key}),))


def forgotten(query: str, result: str, box: Toolbox, voice: Voice) -> Step:
    """Forget the one memory that is clearly meant; else ask, or say that there is none."""
    profile = box.find(MEMORY_FORGET)
    found = matches(analyse(query, voice.code), memories_of(result))
    if profile is None or not found or found[0].share < FAINT:
        return SayStep("nothing_to_forget")
    best = [one for one in found if one.share >= found[0].share]
    if len(best) == 1 and best[0].share >= CLEAR:
        return step_of((settle(CallDraft(profile, {"key": best[0].memory.key})),))
    reason = Reason.FORGET_THIS if len(found) == 1 else Reason.FORGET_WHICH
    options = tuple(
        _option(one, CallDraft(profile, {"key": one.memory.key})) for one in found[:_TOLD]
    )
    return step_of((Need(reason, options),))


def contents_by_key(results: Sequence[str]) -> Mapping[str, Any]:
    """Return the memories recalled in this turn by key, to name one that is forgotten."""
    return {memory.key: memory.content for result in results for memory in memories_of(result)}


def _option(match: Match, draft: CallDraft) -> ReplyOption:
    content = match.memory.content
    return ReplyOption(Choice(None, content, name_of(content)), (draft,))
