"""Orders and questions about watches: set one, list them, remove one.

A watch tells; what it is to tell is in the person's language. Where a sentence may also ask how
things are now, it is asked what is meant.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.providers.offline.clauses import Clause
from agent.providers.offline.conversation import table_of
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.measures import TIME, plain, told_unit
from agent.providers.offline.memory_orders import UNWATCH
from agent.providers.offline.pieces import Analysis
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
    confirmation,
    settle,
    step_of,
)
from agent.providers.offline.readings import MARGIN, ToolReading, readings
from agent.providers.offline.senses import closeness
from agent.providers.offline.slots import best_choices
from agent.providers.offline.time_phrases import TimeKind, time_phrase_of
from agent.providers.offline.toolbox import Choice, Profile, Toolbox, name_of
from agent.providers.offline.voice import Voice

_ADD, _LIST, _REMOVE = "watch_add", "watch_list", "watch_remove"
_NAME = re.compile(r"[^a-z0-9_]+")
_MAX_NAME_CHARS = 32
_ASKING = frozenset({"question", "ask", "fact"})
# What several readings of one device are told apart by
_PARTS = ("temperature", "humidity", "pressure")
_ALONE = "mcu_temperature"


def watching(analysis: Analysis, clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Return the step for a wish to be told later, or a question about watches."""
    clause = _one(analysis, clauses)
    marks = clause.marks
    if not any(profile.name.endswith(_ADD) for profile in box.profiles):
        return None
    if "unwatch" in marks or ("watch" in marks and "negate" in marks):
        # Not at eight, not tomorrow: that ends no watch for good
        return SayStep("watch_stays") if _has_time(analysis) else _listed(box, UNWATCH)
    wished = _is_wish(clause, analysis.code)
    if "watch" in marks and (marks & _ASKING or "list" in clause.actions) and not wished:
        return _listed(box, "")
    if not wished or "past" in marks or marks & {"report", "negate"}:
        return None
    return _added(analysis, clause, box)


def no_longer(analysis: Analysis, result: str, box: Toolbox) -> Step:
    """Return the step that removes a listed watch; ask if several may be meant."""
    profile = next((one for one in box.profiles if one.name.endswith(_REMOVE)), None)
    listed = table_of(result).get("watches")
    names = [
        str(one["name"])
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, Mapping) and isinstance(one.get("name"), str)
    ]
    if profile is None or not names:
        return SayStep("no_watches")
    choices = tuple(Choice(name, name, name_of(name)) for name in names[:MAX_OPTIONS])
    clause = Clause(analysis.pieces, frozenset(), code=analysis.code)
    best = best_choices(choices, clause)
    if not best and clause.things:
        return SayStep("no_such_watch", {"watches": ", ".join(names[:MAX_OPTIONS])})
    drafts = [CallDraft(profile, {"name": choice.value}) for choice in best or choices]
    if len(drafts) == 1 and (best or not clause.unknown):
        return step_of((settle(drafts[0]),))
    options = tuple(
        ReplyOption(choice, (draft,)) for choice, draft in zip(best or choices, drafts, strict=True)
    )
    return step_of((Need(Reason.WHICH, options),))


def _has_time(analysis: Analysis) -> bool:
    if any("later" in piece.senses for piece in analysis.pieces):
        return True
    return time_phrase_of(analysis.text, analysis.code, *TimeKind) is not None


def _one(analysis: Analysis, clauses: Sequence[Clause]) -> Clause:
    """Return the message as one clause: condition and wish belong together."""
    colours = frozenset().union(*(clause.colours for clause in clauses))
    return Clause(analysis.pieces, colours, code=analysis.code)


def _is_wish(clause: Clause, code: str) -> bool:
    """Return true for a wish to be told something, not to have something done."""
    marks = clause.marks - ({"ask", "fact"} if _begins(clause) else set())
    limited = bool(marks & {"above", "below"}) and bool(clause.amounts)
    if clause.actions - {"read"} or ("fact" in marks and "suppose" not in marks):
        return False
    if "watch" in marks:
        asks = "ask" in marks and "suppose" not in marks
        return not asks and bool(limited or _names_change(clause) or clause.things)
    is_if = bool(lexicon(code).wording["if_asks"])
    supposed = bool(marks & {"suppose", "later"}) or not is_if
    limited |= {"suppose", "state"} <= marks and bool(clause.values) and not is_if
    return limited and supposed and "read" in clause.actions and "question" not in marks


def _begins(clause: Clause) -> bool:
    """Return true if the wish comes before the word that could ask: warn me when."""
    found = (one.senses for one in clause.pieces if {"watch", "ask", "fact"} & {*one.senses})
    return "watch" in next(found, ()) and "question" not in clause.colours


def _names_change(clause: Clause) -> bool:
    return bool(clause.marks & {"above", "below", "changes"} or clause.values)


def _listed(box: Toolbox, purpose: str) -> Step | None:
    tool = next((one.name for one in box.profiles if one.name.endswith(_LIST)), None)
    return None if tool is None else CallStep((Order(tool, {}),), purpose)


def _added(analysis: Analysis, clause: Clause, box: Toolbox) -> Step | None:
    change = _change(clause)
    pins = _pins(clause, box, binary="becomes" in change)
    if not pins and "becomes" in change and not clause.values:
        # It is no switch: dry is a value, and which one is for the person to say
        change, pins = {}, _pins(clause, box, binary=False)
    if not pins:
        return SayStep("watch_unknown")
    if not change and "changes" not in clause.marks:
        return SayStep("watch_limit")
    voice = Voice.for_text(analysis.code, analysis.text)
    limit = _limit(clause, change, voice)
    drafts = [_draft(pin, profile, change, limit, voice, box) for pin, profile in pins]
    if len(drafts) > 1:
        return step_of((Need(Reason.MEAN, tuple(_option(draft) for draft in drafts)),))
    if "watch" not in clause.marks and lexicon(analysis.code).wording["if_asks"]:
        # "Tell me if" may also be about now
        return step_of((confirmation((drafts[0],), ""),))
    return step_of((settle(drafts[0]),))


def _change(clause: Clause) -> dict[str, Any]:
    """Return the tool's arguments for the change to wait for; empty if no value was said."""
    for mark in ("above", "below"):
        if mark in clause.marks:
            numbers = [one for one in clause.amounts if not (one.unit and one.unit.kind == TIME)]
            if len(numbers) != 1:
                return {}
            amount = numbers[0]
            number = plain(amount.number, amount.unit) if amount.unit else amount.number
            return {mark: int(number) if number == int(number) else round(number, 6)}
    if clause.values & {"off", "closed", "low"}:
        return {"becomes": "off"}
    if clause.values or ("state" in clause.marks and "changes" not in clause.marks):
        return {"becomes": "on"}
    return {}


def _limit(clause: Clause, change: Mapping[str, Any], voice: Voice) -> str:
    """Return the limit for people, in the unit of the board's readings."""
    shown = next((voice.value(value) for value in change.values()), "")
    unit = clause.amounts[0].unit if clause.amounts else None
    return shown if unit is None or "becomes" in change else f"{shown} {told_unit(unit)}"


def _pins(clause: Clause, box: Toolbox, *, binary: bool) -> list[tuple[str, Profile]]:
    """Return the readings that may be meant, by the names that watches know."""
    found = [
        (one.score, pin, one.profile)
        for one in readings(clause, box, acting=False)
        if bool(one.profile.about & {"on", "off"}) is binary or "changes" in clause.marks
        if _tells_in(one.profile, clause)
        for pin in watchable(one, clause)
    ]
    best = max((score for score, _, _ in found), default=0.0)
    close = {pin: profile for score, pin, profile in found if score > best - MARGIN}
    return list(close.items())[:MAX_OPTIONS]


def _tells_in(profile: Profile, clause: Clause) -> bool:
    """Return true if a reading can be in this unit: a voltage never passes a limit in percent."""
    unit = clause.amounts[0].unit if clause.amounts else None
    return unit is None or unit.kind == "voltage" or "voltage" not in profile.about


def watchable(reading: ToolReading, clause: Clause) -> list[str]:
    """Return the names of the board's readings that a tool's reading may stand for."""
    profile, device = reading.profile, reading.profile.device
    if profile.name.endswith(_ALONE):
        return [_ALONE]
    if device is None or not device.required:
        return []
    given = reading.filled.arguments.get(device.name)
    tied = [choice.text for choice in reading.filled.tied.get(device.name, ())]
    pins = [str(given)] if given is not None else tied
    if not pins and len(device.choices) == 1:
        pins = [device.choices[0].text]
    parts = [part for part in _PARTS if part in profile.about]
    if len(parts) < 2:  # noqa: PLR2004 - one value needs no name
        return pins
    exact = [part for part in parts if part in clause.things]
    near = [part for part in parts if closeness(part, clause.things)]
    return [f"{pin}.{part}" for pin in pins for part in exact or near]


def _draft(
    pin: str, profile: Profile, change: Mapping[str, Any], limit: str, voice: Voice, box: Toolbox
) -> CallDraft:
    board = profile.name.partition("_")[0]
    add = box.find(f"{board}_{_ADD}") or box.find(_ADD) or profile
    kind = next(iter(change), "changes")
    name = _NAME.sub("_", f"{pin}_{change.get('becomes') or kind}".lower())[:_MAX_NAME_CHARS]
    part = _PARTS[0] if pin == _ALONE else pin.rpartition(".")[2]
    if part == _PARTS[0] and limit.endswith("°"):
        limit += "C"
    said = voice.say(f"watch_{kind}", thing=voice.thing(part), limit=limit, value="{value}")
    arguments = {"name": name.lstrip("_0123456789"), "pin": pin, **change, "say": said}
    if voice.code != "en":
        arguments["language"] = voice.code
    return CallDraft(add, arguments)


def _option(draft: CallDraft) -> ReplyOption:
    pin = str(draft.arguments["pin"])
    return ReplyOption(Choice(None, pin, name_of(pin)), (draft,))
