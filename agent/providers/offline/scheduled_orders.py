"""Sentences about what is scheduled already: list, cancel, pause and resume jobs and reminders.

The list comes first, then the one that was said is taken; where several fit, it is asked which.
Setting one is read with its time, elsewhere.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.offline.conversation import Exchange, table_of
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import (
    MAX_OPTIONS,
    SCHEDULED,
    CallDraft,
    CallStep,
    Need,
    Order,
    Reason,
    ReplyOption,
    SayStep,
    Step,
    TellStep,
    step_of,
)
from agent.providers.offline.time_phrases import TimeKind, time_phrase_of
from agent.providers.offline.time_vocabulary import LIGHT
from agent.providers.offline.timed_tokens import Sentence, TimeToken, TokenKind, sentence_of
from agent.providers.offline.timers import CANCEL, CHANGE, LIST
from agent.providers.offline.toolbox import Choice, Toolbox, name_of
from agent.providers.offline.units import EDGES
from agent.text.printable import printable_line

JOBS, JOB_REMOVE, JOB_PAUSE = "cron_list", "cron_remove", "cron_pause"
_REMINDERS = frozenset({"reminder", "reminders"})
_NOUNS = _REMINDERS | {"job", "jobs"}
# As the agent names the jobs that it makes of sentences
JOB_NAME = re.compile(r"(?<![\w-])(?:order|reminder)-\d+(?![\w-])")
# Words of each deed; the first one that was said counts
_DEEDS = {
    "pause": frozenset({"pause"}),
    "resume": frozenset({"resume"}),
    "remove": frozenset({"cancel", "remove"}),
    "list": frozenset({"status"}),
}
_BESIDE = _NOUNS.union({LIGHT, "all", "aside", "left", "turning"}, *_DEEDS.values())
_WITHOUT_PLURAL = frozenset({"zh", "ja", "ko"})
# Said with these, it is no order
_NO_ORDER = frozenset({"negate", "suppose", "past", "report"})
# A reminder's own words are cut: a question is looked over
_SHOWN_CHARS = 60
# As many of them as the tools for timers take for a name
_NAME_CHARS = 40


class _Said(Struct, frozen=True):
    """Parts of a sentence.

    Args:
        words: those that say which one.
        every: all of them are meant.
    """

    deed: str
    reminders: bool
    words: tuple[str, ...] = ()
    every: bool = False


class _Entry(Struct, frozen=True):
    """Something that is scheduled, and the call for each deed.

    Args:
        is_of_others: it was ordered by somebody else; who says "all" means their own.
    """

    name: str
    text: str
    calls: Mapping[str, Order]
    is_of_others: bool = False

    def fits(self, words: Sequence[str]) -> bool:
        told = f"{self.name} {self.text}".casefold()
        return all(word in told for word in words)


def about_scheduled(analysis: Analysis, box: Toolbox) -> CallStep | None:
    """Return the step that looks up what is scheduled, for a sentence about it; else None."""
    said = _said(analysis)
    if said is None or box.find(JOBS) is None:
        return None
    return CallStep(_lookups(said, box), "" if said.deed == "list" else SCHEDULED)


def change_scheduled(analysis: Analysis, looked_up: Sequence[Exchange], box: Toolbox) -> Step:
    """Return the step that changes what was said, once it is known what there is."""
    said = _said(analysis)
    if said is None:
        return TellStep()
    is_every = said.every and not said.words
    entries = [one for one in _entries(looked_up, said) if not (is_every and one.is_of_others)]
    if not entries:
        return SayStep("reminders_none" if said.reminders else "jobs_none")
    named = [one for one in entries if one.name in JOB_NAME.findall(analysis.text.casefold())]
    meant = named or [one for one in entries if one.fits(said.words)]
    if not meant:
        listed = ", ".join(_shown(one, said) for one in entries[:MAX_OPTIONS])
        return SayStep("no_such_scheduled", {"things": listed})
    calls = [one.calls[said.deed] for one in meant]
    if len(meant) == 1 or is_every:
        return step_of(tuple(calls))
    texts = Counter(one.text.casefold()[:_NAME_CHARS] for one in entries)
    options = tuple(_option(one, said, box, texts) for one in meant[:MAX_OPTIONS])
    return step_of((Need(Reason.WHICH_TEXT, options),))


def _lookups(said: _Said, box: Toolbox) -> tuple[Order, ...]:
    jobs = Order(JOBS, {})
    if said.reminders and box.find(LIST) is not None:
        return (Order(LIST, {"reminder": True}), jobs)
    return (jobs,)


def _said(analysis: Analysis) -> _Said | None:
    """Read a sentence of which every word is accounted for; None for any other."""
    senses = {sense for piece in analysis.pieces for sense in piece.senses}
    if senses & _NO_ORDER:
        return None
    when = time_phrase_of(analysis.text, analysis.code, TimeKind.IN, TimeKind.AT, TimeKind.EVERY)
    if when is None:
        return _read(analysis.text, analysis.code)
    # What is to come at a time is being set; what is cancelled is there, and is called by its time
    said = _read(when.rest, analysis.code, is_by_time=True)
    if said is None or said.deed == "list" or said.words:
        return None
    return replace(said, words=(when.told or str(when.seconds),), every=False)


def _read(text: str, code: str, *, is_by_time: bool = False) -> _Said | None:
    sentence = sentence_of(text, code)
    nouns = [place for place, token in enumerate(sentence.tokens) if token.has(*_NOUNS)]
    is_named = JOB_NAME.search(text.casefold()) is not None
    if not nouns and not is_named:
        return None
    head, about = _parted(sentence, nouns[0]) if nouns else (sentence.tokens, "")
    tags = frozenset().union(*(token.tags for token in head))
    deed = next((name for name, own in _DEEDS.items() if own & tags), "")
    others = [token for token in head if not token.has(*_BESIDE)]
    if is_by_time:
        if any(token.has("remind") and not token.has(*_NOUNS) for token in head):
            return None
        # Of the time: de las, for, の
        others = [token for token in others if token.kind is not TokenKind.TAGGED]
    if not deed or any(token.kind is TokenKind.TAGGED for token in others):
        return None
    words = [sentence.words(token) for token in others] + about.split()
    # One job is what somebody does for a living
    one_job = "job" in tags and code not in _WITHOUT_PLURAL
    if deed == "list" and (words or one_job):
        return None
    every = not tags.isdisjoint({"all", "jobs", "reminders"})
    told = tuple(word.casefold() for word in words)
    return _Said(deed, not tags.isdisjoint(_REMINDERS), told, every)


def _parted(sentence: Sentence, noun: int) -> tuple[Sequence[TimeToken], str]:
    """Return the tokens of the order, and what it is about after "to" or "about"."""
    tokens = sentence.tokens
    for place, token in enumerate(tokens[noun + 1 :], noun + 1):
        if token.has("that"):
            return tokens[:place], sentence.text[sentence.place(token)[1] :].strip(EDGES)
    return tokens, ""


def _entries(looked_up: Sequence[Exchange], said: _Said) -> list[_Entry]:
    entries = []
    for exchange in looked_up:
        result = table_of(exchange.result)
        # From the last one on: removing one moves up those behind it
        entries += [_reminder(one) for one in reversed([*_listed(result, "reminders")])]
        entries += [
            _job(one) for one in _listed(result, "jobs") if one.get("message") or not said.reminders
        ]
    return entries


def _listed(result: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    told = result.get(key)
    yield from (one for one in (told if isinstance(told, list) else ()) if isinstance(one, Mapping))


def _reminder(told: Mapping[str, Any]) -> _Entry:
    which = {"number": told.get("number", 0)}
    calls = {
        "remove": Order(CANCEL, which),
        "pause": Order(CHANGE, {**which, "state": "paused"}),
        "resume": Order(CHANGE, {**which, "state": "running"}),
    }
    return _Entry("", str(told.get("text", "")), calls, "of" in told)


def _job(told: Mapping[str, Any]) -> _Entry:
    which = {"name": str(told.get("name", ""))}
    calls = {
        "remove": Order(JOB_REMOVE, which),
        "pause": Order(JOB_PAUSE, which),
        "resume": Order(JOB_PAUSE, {**which, "resume": True}),
    }
    text = str(told.get("message") or told.get("prompt") or "")
    return _Entry(which["name"], text, calls, "of" in told)


def _shown(entry: _Entry, said: _Said) -> str:
    """Return what a person calls it: a reminder by its text, a job by its name."""
    return printable_line(entry.text, _SHOWN_CHARS) if said.reminders else entry.name


def _option(entry: _Entry, said: _Said, box: Toolbox, texts: Mapping[str, int]) -> ReplyOption:
    """Return an answer; until it comes a reminder may end, and the numbers of others change."""
    call, shown = entry.calls[said.deed], _shown(entry, said)
    name = entry.text[:_NAME_CHARS]
    if "number" in call.arguments and name.strip() and texts[name.casefold()] == 1:
        others = {key: one for key, one in call.arguments.items() if key != "number"}
        call = Order(call.tool, {"name": name, "reminder": True, **others})
    profile = box.find(call.tool)
    drafts = (CallDraft(profile, call.arguments),) if profile is not None else ()
    return ReplyOption(Choice(shown, shown, name_of(shown)), drafts)
