"""Sentences about timers: set, add, take away, pause, resume, time left, cancel.

A reading counts only when it accounts for every word: each is part of the order, of a time, of one
name, or says nothing. Nothing here ever moves an output.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import CallStep, Order, SayStep, Step
from agent.providers.offline.senses import actions, values
from agent.providers.offline.time_vocabulary import LIGHT
from agent.providers.offline.timed_tokens import Sentence, TimeToken, TokenKind, sentence_of
from agent.providers.offline.timer_doubts import (
    DASHES,
    NO_ORDER,
    SIGNS,
    has_within,
    is_minus,
    is_no_order,
    is_sum,
)
from agent.providers.offline.toolbox import Toolbox

START, CHANGE, CANCEL, LIST = "timer_start", "timer_change", "timer_cancel", "timer_list"
_NOUNS = ("timer", "timers")
# What may stand in any sentence about a timer
_ALWAYS = frozenset({LIGHT, "name", "timer", "timers", "place", "for", "named", "aside"})
# What each deed may be said with besides its own words
_BESIDE: Mapping[str, frozenset[str]] = {
    "pause": frozenset({"halt"}),
    "resume": frozenset({"start", "left"}),
    "remove": frozenset({"by", "start", "cancel"}),
    "add": frozenset({"by", "start", "all"}),
    "cancel": frozenset({"all", "turning"}),
    "status": frozenset({"remains", "left", "all", "start", "in", "add"}),
    "start": frozenset({"in", "in_after", "by", "turning"}),
}
# Unicode's letters, digits and pictures, one of which is in a name
_SAID = ("L", "N", "So")
_MAX_NAME_WORDS = 4
_MAX_NAME_CHARS = 40
_TWO = 2


class _Read(Struct, frozen=True):
    """Parts of a sentence besides its verb.

    Args:
        amounts: durations that are not what a timer was set for.
        ok: every word was accounted for.
    """

    name: str = ""
    number: int = 0
    set_for_s: float = 0.0
    amounts: tuple[float, ...] = ()
    ok: bool = True


def about_timers(analysis: Analysis, box: Toolbox) -> Step | None:
    """Return the step for a sentence about timers; None for any other."""
    if not any(profile.name == START for profile in box.profiles):
        return None
    sentence = sentence_of(analysis.text, analysis.code)
    if not sentence.tags.isdisjoint(_NOUNS):
        order = None if is_no_order(analysis, sentence) else _ordered(sentence, analysis)
        return SayStep("timer_unclear") if order is None else CallStep((order,))
    order = _more_or_less(sentence, analysis) or _remaining(sentence)
    return None if order is None else CallStep((order,))


def _ordered(sentence: Sentence, analysis: Analysis) -> Order | None:
    for deed, read in _DEEDS:
        if sentence.tags.isdisjoint(read.tags) and read.tags:
            continue
        order = read(deed, sentence, analysis)
        if order is not None:
            return order
    return None


def _more_or_less(sentence: Sentence, analysis: Analysis) -> Order | None:
    """Read "five minutes more" as an order for the timer that runs."""
    durations = [token.duration for token in sentence.tokens if token.duration is not None]
    words = [token for token in sentence.tokens if token.duration is None]
    if len(durations) != 1 or _is_aimed(sentence.tokens, sentence, analysis):
        return None
    for deed, sign in SIGNS.items():
        own = [token for token in sentence.tokens if token.has(deed)]
        rest = [token for token in words if token not in own]
        if own and all(token.has(LIGHT, "by") for token in rest):
            return Order(CHANGE, {"add_seconds": sign * _number(durations[0].seconds)})
    return None


def _remaining(sentence: Sentence) -> Order | None:
    """Read a question for the time left, of whatever runs."""
    own = frozenset({"status", "left", "remains", LIGHT})
    if not any(token.has("remains") for token in sentence.tokens):
        return None
    asks = any(token.has("status") for token in sentence.tokens)
    return Order(LIST, {}) if asks and all(token.has(*own) for token in sentence.tokens) else None


class _Reader:
    """Reads one deed out of a sentence.

    Args:
        tags: one of them has to be said; none where the deed needs no word.
    """

    def __init__(self, *tags: str) -> None:
        self.tags = frozenset(tags)

    def __call__(self, deed: str, sentence: Sentence, analysis: Analysis) -> Order | None:
        read = _read(deed, sentence, analysis)
        return _order(deed, read, sentence) if read.ok else None


_DEEDS = (
    ("pause", _Reader("pause")),
    ("resume", _Reader("resume")),
    ("remove", _Reader("remove")),
    ("add", _Reader("add")),
    ("cancel", _Reader("cancel")),
    ("status", _Reader("status")),
    ("halt", _Reader("halt")),
    ("start", _Reader()),
)


def _order(deed: str, read: _Read, sentence: Sentence) -> Order | None:
    """Return the call, if the sentence has all that the deed needs."""
    if deed == "start":
        return _start(read, sentence)
    if deed in SIGNS:
        return _added(read, SIGNS[deed])
    if read.amounts:
        return None
    many = not sentence.tags.isdisjoint({"all", "timers"})
    if deed == "status":
        return Order(LIST, _which(read))
    if deed == "cancel" or (deed == "halt" and many):
        return Order(CANCEL, {**_which(read), **({"all": True} if many else {})})
    state = "running" if deed == "resume" else "paused"
    return None if many else Order(CHANGE, {**_which(read), "state": state})


def _added(read: _Read, sign: int) -> Order | None:
    if len(read.amounts) != 1:
        return None
    return Order(CHANGE, {**_which(read), "add_seconds": sign * _number(read.amounts[0])})


def _start(read: _Read, sentence: Sentence) -> Order | None:
    times = (*read.amounts, *((read.set_for_s,) if read.set_for_s else ()))
    # A number behind the word is one end of a range: timer 5 to 10 minutes
    is_range = any(token.kind is TokenKind.NUMBER for token in sentence.tokens)
    if len(times) != 1 or is_range:
        return None
    given: dict[str, Any] = {"seconds": _number(times[0])}
    if read.name:
        given["name"] = read.name
    if sentence.code != "en":
        given["language"] = sentence.code
    return Order(START, given)


def _which(read: _Read) -> dict[str, Any]:
    which: dict[str, Any] = {}
    if read.name:
        which["name"] = read.name
    if read.number:
        which["number"] = read.number
    if read.set_for_s:
        which["set_for_seconds"] = _number(read.set_for_s)
    return which


def _number(seconds: float) -> int | float:
    return int(seconds) if seconds == int(seconds) else seconds


def _read(deed: str, sentence: Sentence, analysis: Analysis) -> _Read:
    if any(is_minus(sentence, *pair) for pair in pairwise(sentence.tokens)):
        return _Read(ok=False)
    if is_sum(sentence) or (deed in SIGNS and _is_aimed(sentence.tokens, sentence, analysis)):
        return _Read(ok=False)
    tokens = _without_dashes(sentence)
    allowed = _ALWAYS | _BESIDE.get(deed, frozenset()) | {deed}
    names = [token for token in tokens if _is_name(token)] or _light_name(tokens)
    if not _accounted(tokens, allowed) or not _is_one_name(names, tokens, sentence, analysis):
        return _Read(ok=False)
    set_for, amounts = _durations(deed, tokens)
    number = _place(tokens)
    ok = number >= 0 and len(set_for) < _TWO
    return _Read(
        name=" ".join(sentence.words(name) for name in names),
        number=max(number, 0),
        set_for_s=set_for[0] if set_for else 0.0,
        amounts=amounts,
        ok=ok,
    )


def _without_dashes(sentence: Sentence) -> list[TimeToken]:
    """Return the tokens without the dashes between them; one behind a number may be a range."""
    kept: list[TimeToken] = []
    for token in sentence.tokens:
        counts = bool(kept) and kept[-1].kind is TokenKind.NUMBER
        if counts or sentence.words(token) not in DASHES:
            kept.append(token)
    return kept


def _is_aimed(tokens: Sequence[TimeToken], sentence: Sentence, analysis: Analysis) -> bool:
    """Return true if a word beside a duration says that it is where a timer is to end: to 5 min."""
    lasting = [token for token in tokens if token.duration is not None]
    amounts = [one for one in lasting if not _is_attached(tokens, tokens.index(one))] or lasting
    places = [sentence.place(token) for token in amounts]
    pieces = analysis.pieces
    if lexicon(sentence.code).verb_final:
        beside = [next((one for one in pieces if one.start >= end), None) for _, end in places]
    else:
        beside = [next((one for one in pieces[::-1] if one.end <= at), None) for at, _ in places]
    return any(
        one is not None and "aim" in one.senses and "step" not in one.senses for one in beside
    )


def _is_name(token: TimeToken) -> bool:
    return token.kind is TokenKind.UNKNOWN or token.has("name")


def _light_name(tokens: Sequence[TimeToken]) -> list[TimeToken]:
    """Read a name spelled like a filler word, after a word that introduces names."""
    return [
        after
        for before, after in pairwise(tokens)
        if before.has("named") and after.tags == {LIGHT} and after is tokens[-1]
    ]


def _accounted(tokens: Sequence[TimeToken], allowed: frozenset[str]) -> bool:
    # Set one and name it so
    named = any(token.has("named") for token in tokens)
    return all(
        token.has(*allowed) or (named and token.has("join"))
        for token in tokens
        if token.kind is TokenKind.TAGGED
    )


def _place(tokens: Sequence[TimeToken]) -> int:
    """Return the place that was said, 0 where that was not said; -1 where numbers are left over."""
    ordinals = [token for token in tokens if token.kind is TokenKind.ORDINAL]
    numbers = [token for token in tokens if token.kind is TokenKind.NUMBER]
    if len(ordinals) + len(numbers) > 1:
        return -1
    for token in ordinals:
        return int(token.number)
    for token in numbers:
        before = tokens[: tokens.index(token)]
        follows = bool(before) and before[-1].has(*_NOUNS)
        return int(token.number) if follows and token.number % 1 == 0 else -1
    return 0


def _is_one_name(
    names: Sequence[TimeToken],
    tokens: Sequence[TimeToken],
    sentence: Sentence,
    analysis: Analysis,
) -> bool:
    """Return true for at most one name, in its usual place, with no order in it."""
    if not names:
        return True
    letters = "".join(sentence.words(name) for name in names)
    if not any(unicodedata.category(letter).startswith(_SAID) for letter in letters):
        return False
    first, last = tokens.index(names[0]), tokens.index(names[-1])
    if len(names) > _MAX_NAME_WORDS or last - first != len(names) - 1:
        return False
    start, end = sentence.place(names[0])[0], sentence.place(names[-1])[1]
    ordering = actions() | values() | NO_ORDER
    orders = any(
        has_within(analysis, *sentence.place(name), ordering)
        for name in names
        if not name.has("name")
    )
    if end - start > _MAX_NAME_CHARS or orders:
        return False
    return _stands_beside(tokens[:first][::-1]) or _stands_beside(tokens[last + 1 :])


def _stands_beside(tokens: Sequence[TimeToken]) -> bool:
    """Return true if the nearest token with a meaning is a timer, or introduces a name."""
    for token in tokens:
        if token.has("timer", "timers", "named"):
            return True
        is_time = token.kind in {TokenKind.DURATION, TokenKind.ORDINAL}
        if not is_time and not token.has(LIGHT, "place", "for", "all"):
            return False
    return False


def _durations(deed: str, tokens: Sequence[TimeToken]) -> tuple[list[float], tuple[float, ...]]:
    """Return the durations that tell which timer is meant, and the others."""
    found = [
        (position, token.duration.seconds)
        for position, token in enumerate(tokens)
        if token.duration is not None
    ]
    if deed == "start":
        return [], tuple(seconds for _, seconds in found)
    if deed not in {"add", "remove"}:
        return [seconds for _, seconds in found], ()
    if len(found) == 1:
        return [], (found[0][1],)
    attached = [seconds for position, seconds in found if _is_attached(tokens, position)]
    others = tuple(seconds for position, seconds in found if not _is_attached(tokens, position))
    return attached, others


def _is_attached(tokens: Sequence[TimeToken], position: int) -> bool:
    """Return true if a duration tells which timer is meant: a ten minute timer."""
    return _leads_to_timer(tokens[position + 1 :]) or _follows_timer(tokens[:position])


def _leads_to_timer(tokens: Sequence[TimeToken]) -> bool:
    for token in tokens:
        if token.has(*_NOUNS):
            return True
        if token.duration is not None or token.has("aside", "by", "add", "remove"):
            return False
        if not token.has(LIGHT) and token.kind is not TokenKind.UNKNOWN:
            return False
    return False


def _follows_timer(tokens: Sequence[TimeToken]) -> bool:
    if not tokens or not tokens[-1].has("for") or tokens[-1].has("by"):
        return False
    for token in reversed(tokens[:-1]):
        if token.has(*_NOUNS):
            return True
        if not token.has(LIGHT) and token.kind is not TokenKind.UNKNOWN:
            return False
    return False
