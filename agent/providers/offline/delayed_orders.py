"""Orders with a time: for a while, later, at a time, repeated; and reminders.

The time is read apart; what is left of the sentence is understood as if it had been said alone,
with everything that keeps an order from being done. What is to be done later is kept in words.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from agent.messages import Effect
from agent.providers.offline.conversation import table_of
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import (
    AskStep,
    CallDraft,
    CallStep,
    Item,
    Need,
    Order,
    ReplyOption,
    SayStep,
    Step,
    confirmation,
)
from agent.providers.offline.scheduled_orders import JOB_NAME
from agent.providers.offline.senses import actions, marks, values
from agent.providers.offline.statements import statements_of
from agent.providers.offline.time_phrases import TimeKind, TimePhrase, time_phrase_of
from agent.providers.offline.time_vocabulary import LIGHT
from agent.providers.offline.timed_tokens import TokenKind, sentence_of
from agent.providers.offline.timers import START
from agent.providers.offline.toolbox import Toolbox
from agent.providers.offline.units import UnitKind

REMINDER = "reminder_set"
NOW = "time_now"
FOR_SECONDS = "for_seconds"
# What the time of day is asked for
UNTIL = "until"
_MOVING = frozenset({Effect.ACTUATE, Effect.HAZARD})
_LATER = (TimeKind.IN, TimeKind.AT, TimeKind.EVERY)
# With these, it is no order
_NO_ORDER = frozenset(
    {"negate", "suppose", "past", "report", "question", "ask", "fact", "recall", "watch", "unwatch"}
)
_NO_WISH = frozenset({"negate", "suppose", "past"})
_LOOKS = frozenset({"read", "list"})
# What may stand behind a length and says nothing of it
_POLITE = frozenset({"request", "thanks"})
# Kinds of tokens that a date or a repetition may have
_COUNTED = frozenset({TokenKind.DURATION, TokenKind.NUMBER, TokenKind.ORDINAL})
# What is left of a reminder's words when its time and its verb are gone
_EDGES = " ,.;:!?、。，！？"
_Reads = Callable[[str], Awaitable[Step]]
_ReadsNow = Callable[[], Awaitable[Step]]


async def timed(analysis: Analysis, box: Toolbox, read: _Reads, read_now: _ReadsNow) -> Step | None:
    """Return the step for an order with a time; None for anything else.

    Args:
        read: the step for a sentence, verified.
        read_now: the step for the whole message, as if it had no time.
    """
    if box.find(START) is not None or box.find(REMINDER) is not None:
        reminder = _reminder(analysis, box)
        if reminder is not None:
            return reminder
        when = time_phrase_of(analysis.text, analysis.code, *_LATER)
        if when is not None and when.rest and _names_no_timer(when.rest, analysis.code):
            switches = any(not values().isdisjoint(one.senses) for one in analysis.pieces)
            if when.is_number and not switches and _acts(await read_now(), box):
                # To 21 °C, and not at 21:00
                return None
            return await _later(analysis, when, box, read)
    when = time_phrase_of(analysis.text, analysis.code, TimeKind.FOR, TimeKind.UNTIL)
    if when is None or not when.rest or not _names_no_timer(when.rest, analysis.code):
        return None
    return await _lasting(analysis, when, box, read)


async def _later(analysis: Analysis, when: TimePhrase, box: Toolbox, read: _Reads) -> Step | None:
    """Return the step that keeps an order as text for later; None if it is no order."""
    said = {sense for piece in analysis.pieces for sense in piece.senses}
    asks = "?" in analysis.text.replace("？", "?") and "request" not in said
    if said & _NO_ORDER or asks:
        return None
    step = await read(when.rest)
    is_unclear = when.is_part or when.is_doubtful or _is_length(when.rest, analysis.code)
    if not when.has_time or is_unclear:
        return SayStep("later_unclear", {"order": when.rest}) if _acts(step, box) else None
    if _acts(step, box):
        return _kept(when, box, analysis.code)
    orders = said & (actions() - _LOOKS | values())
    unknown = _unknown(step)
    if unknown is not None and orders:
        # Who knows the word may be back by then; that it is not known now is said
        kept = _kept(when, box, analysis.code)
        return replace(kept, beside=unknown) if isinstance(kept, CallStep) else kept
    return SayStep("later_unclear", {"order": when.rest}) if orders else None


def _is_length(rest: str, code: str) -> bool:
    """Return true if what was cut out told how long, though it is written like a time: for 1:30."""
    return sentence_of(rest, code).tokens[-1].has("during")


# Sentences that tell of a word that is not known
_UNKNOWN = frozenset({"unaccounted", "no_board"})
_UNKNOWN_THING = "unknown_thing"


def _unknown(step: Step) -> SayStep | None:
    """Return the sentence about an unknown word; None if something else is wrong."""
    if isinstance(step, SayStep):
        return step if step.key in _UNKNOWN else None
    preface = step.need.preface if isinstance(step, AskStep) else None
    if preface is None or preface[0] != _UNKNOWN_THING:
        return None
    return SayStep(_UNKNOWN_THING, {"thing": preface[1]})


def _kept(when: TimePhrase, box: Toolbox, code: str) -> Step:
    language = {} if code == "en" else {"language": code}
    if when.kind is TimeKind.IN and box.find(START) is not None:
        seconds = _whole(when.seconds)
        return CallStep((Order(START, {"seconds": seconds, "order": when.rest, **language}),))
    if box.find(REMINDER) is None:
        return SayStep("later_unclear", {"order": when.rest})
    return CallStep((Order(REMINDER, {"order": when.rest, **_at(when), **language}),))


def _at(when: TimePhrase) -> dict[str, Any]:
    if when.kind is TimeKind.IN:
        return {"in_seconds": _whole(when.seconds)}
    return {"every" if when.kind is TimeKind.EVERY else "at": when.told}


async def _lasting(analysis: Analysis, when: TimePhrase, box: Toolbox, read: _Reads) -> Step | None:
    step = await read(when.rest)
    if not isinstance(step, (CallStep, AskStep)) or not _moves(step, box):
        # What is wrong with the order itself is the better answer
        is_for = when.kind is TimeKind.FOR and when.bare is None
        is_told = isinstance(step, SayStep) and step.key == "unaccounted" and is_for
        return step if is_told else None
    if when.kind is TimeKind.FOR:
        if _spreads(step, analysis):
            return SayStep("for_one")
        # Without such a tool another may take a duration of its own
        lasting = _for(step, _whole(when.seconds), box)
        vague = when.is_doubtful or (when.bare is not None and _is_vague(when.bare, analysis))
        return _asked(lasting, box) if vague else lasting
    if isinstance(step, AskStep):
        # Its answer would come when the time is another
        return None
    if box.find(NOW) is None:
        return SayStep("until_when")
    return CallStep((Order(NOW, {}),), UNTIL)


def _is_vague(bare: tuple[int, int], analysis: Analysis) -> bool:
    """Return true for a length that is not plainly how long something is on: off 5 minutes."""
    start, end = bare
    said = frozenset(one for piece in analysis.pieces for one in piece.senses) & values()
    before = [one for one in analysis.pieces if one.end <= start][-1:]
    behind = [one for one in analysis.pieces if one.start >= end][:1]
    # Beside a word that weighs nothing it may be anything: seit 5 Minuten, the 5 minute light
    led = all(one.senses and marks().isdisjoint(one.senses) for one in before)
    ends = all(one.kind is UnitKind.MARK or _is_end(one.senses) for one in behind)
    return not (before and led and ends and said <= {"on", "open"})


def _is_end(senses: Sequence[str]) -> bool:
    """Return true for the rest of a deed or a please: an, anmachen, bitte."""
    return bool(senses) and (
        not values().isdisjoint(senses) or (marks() - _POLITE).isdisjoint(senses)
    )


def _spreads(step: CallStep | AskStep, analysis: Analysis) -> bool:
    """Return true if a length would be of more than it was said of: on for 5 min, then off."""
    orders = step.orders if isinstance(step, CallStep) else ()
    if any(FOR_SECONDS in order.arguments for order in orders):
        # It has one of its own already: for 5 or 10 minutes
        return True
    # Turn the light and the pump on: a verb here, its value there
    said = [one.senses for one in statements_of(analysis)]
    deeds = max(sum(bool(one & kind) for one in said) for kind in (actions(), values()))
    return min(len(orders), deeds) > 1


def _asked(step: Step | None, box: Toolbox) -> Step | None:
    """Return the question for a length that may be a time of day."""
    if not isinstance(step, CallStep):
        return step
    found = [(box.find(one.tool), one.arguments) for one in step.orders]
    drafts = tuple(CallDraft(profile, given) for profile, given in found if profile is not None)
    return AskStep((confirmation(drafts, ""),))


async def until(analysis: Analysis, result: str, box: Toolbox, read: _Reads) -> Step:
    """Return the step once the time of day is known."""
    when = time_phrase_of(analysis.text, analysis.code, TimeKind.UNTIL)
    seconds = None if when is None else _seconds_until(when.told, str(table_of(result).get("time")))
    step = await read(when.rest) if when is not None and seconds is not None else None
    if not isinstance(step, CallStep) or seconds is None:
        return SayStep("until_when")
    if _spreads(step, analysis):
        return SayStep("for_one")
    return _for(step, seconds, box) or SayStep("for_one")


def _seconds_until(told: str, now: str) -> int | None:
    try:
        moment = datetime.fromisoformat(now)
        times = [one.split()[-1].split(":") for one in told.split(" or ")]
        ends = [
            moment.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
            for hour, minute in times
        ]
    except ValueError:
        return None
    coming = [end if end > moment else end + timedelta(days=1) for end in ends]
    return round((min(coming) - moment).total_seconds()) if coming else None


def _for(step: CallStep | AskStep, seconds: float, box: Toolbox) -> Step | None:
    """Return the step with an end; None if one of its tools knows of none."""
    if isinstance(step, CallStep):
        if not all(_has_end(order.tool, box) for order in step.orders):
            return None
        return replace(step, orders=tuple(_ending(order, seconds) for order in step.orders))
    items: list[Item] = []
    for item in step.plan:
        if isinstance(item, Order):
            items.append(_ending(item, seconds))
        else:
            items.append(_need_ending(item, seconds))
    return replace(step, plan=tuple(items))


def _need_ending(need: Need, seconds: float) -> Need:
    options = tuple(
        ReplyOption(option.choice, tuple(_draft_ending(draft, seconds) for draft in option.drafts))
        for option in need.options
    )
    return replace(need, options=options)


def _draft_ending(draft: CallDraft, seconds: float) -> CallDraft:
    return CallDraft(draft.profile, {**draft.arguments, FOR_SECONDS: seconds})


def _ending(order: Order, seconds: float) -> Order:
    return Order(order.tool, {**order.arguments, FOR_SECONDS: seconds})


def _has_end(tool: str, box: Toolbox) -> bool:
    profile = box.find(tool)
    return profile is not None and any(one.name == FOR_SECONDS for one in profile.parameters)


def _acts(step: Step, box: Toolbox) -> bool:
    return isinstance(step, CallStep) and not step.purpose and _moves(step, box)


def _moves(step: CallStep | AskStep, box: Toolbox) -> bool:
    """Return true if every call of a step moves an output."""
    if isinstance(step, AskStep):
        profiles = [draft.profile for option in step.need.options for draft in option.drafts]
    else:
        profiles = [one for order in step.orders if (one := box.find(order.tool)) is not None]
    return bool(profiles) and all(one.spec.effect in _MOVING for one in profiles)


def _reminder(analysis: Analysis, box: Toolbox) -> Step | None:
    """Return the step for a reminder, with its text as it was said."""
    sentence = sentence_of(analysis.text, analysis.code)
    wishes = [token for token in sentence.tokens if token.has("remind")]
    said = {sense for piece in analysis.pieces for sense in piece.senses}
    begins = bool(wishes) and wishes[0] is sentence.tokens[0] and "recall" not in said
    if not wishes or box.find(REMINDER) is None:
        return None
    if said & _NO_WISH:
        # Before eight: when that is, is for the person to say
        before = said & _NO_WISH == {"past"} and any(one.number for one in analysis.pieces)
        return SayStep("reminder_when") if begins and before else None
    when = time_phrase_of(analysis.text, analysis.code, *_LATER)
    if when is None:
        names_one = JOB_NAME.search(analysis.text.casefold()) is not None
        return SayStep("reminder_when") if begins and not names_one else None
    text = _without_wish(when.rest, analysis.code)
    if not text or when.is_part or when.is_doubtful or _has_more_time(when.rest, analysis.code):
        return SayStep("reminder_when")
    language = {} if analysis.code == "en" else {"language": analysis.code}
    return CallStep((Order(REMINDER, {"text": text, **_at(when), **language}),))


def _has_more_time(rest: str, code: str) -> bool:
    """Return true if beside its text there is what may be a date or another day: on December 24."""
    tokens = [one for one in sentence_of(rest, code).tokens if one.tags != {LIGHT}]
    wish = next((place for place, one in enumerate(tokens) if one.has("remind")), len(tokens))
    after = tokens[wish + 1 :]
    if not after:
        # Everything before the wish is its text
        return False
    text = next((place for place, one in enumerate(after) if one.has("that")), 0)
    beside = (*tokens[:wish], *after[:text])
    return after[0].has("join") or any(one.kind in _COUNTED or one.has("every") for one in beside)


def _without_wish(rest: str, code: str) -> str:
    """Return the text without "remind me to"."""
    sentence = sentence_of(rest, code)
    kept = list(sentence.tokens)
    wish = next((token for token in kept if token.has("remind")), None)
    if wish is None:
        return rest.strip(_EDGES)
    start, end = sentence.place(wish)
    place = kept.index(wish)
    for token in kept[place + 1 :]:
        if not token.has("that") and sentence.words(token).strip(_EDGES):
            break
        end = sentence.place(token)[1]
    for token in reversed(kept[:place]):
        if not token.has("that", "light") or not rest[: sentence.place(token)[0]].strip():
            break
        start = sentence.place(token)[0]
    return f"{rest[:start].rstrip()} {rest[end:].lstrip()}".strip(_EDGES)


def _names_no_timer(rest: str, code: str) -> bool:
    return sentence_of(rest, code).tags.isdisjoint({"timer", "timers"})


def _whole(seconds: float) -> int | float:
    return int(seconds) if seconds == int(seconds) else seconds
