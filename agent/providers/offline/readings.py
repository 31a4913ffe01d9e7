"""Choice of the tool for a clause: each is scored by its words and its arguments.

The weights are few and here. They were set by hand so that every table of utterances in the
tests reads right; none is fitted.
"""

import math
from collections.abc import Set as AbstractSet

from msgspec import Struct

from agent.providers.offline.clauses import Clause
from agent.providers.offline.measures import TIME, Amount
from agent.providers.offline.senses import actions, closeness, hardware, quantities, things
from agent.providers.offline.slots import Filled, fill
from agent.providers.offline.toolbox import ORDERS, Profile, Toolbox

# A word of the tool's name, divided by how many tools share it
_NAME = 3.0
# Verbs in names are common, and say little alone
_NAME_VERB = 1.5
# Every thing in the name was said
_WHOLE_NAME = 1.0
# A quantity that only this tool's description has
_ALONE_TELLS = 4.0
# A word of the description, and all of them together at most
_ABOUT = 0.5
_ABOUT_MOST = 1.5
# A device among its choices was named; on or off was said and it takes that
_DEVICE = 3.0
_SWITCH = 2.0
# A file was named, and it needs one
_FILE = 1.5
# It does what the clause wants: looks where something is asked, acts where it is ordered
_FIT = 1.0
_MISFIT = 3.0
# Asked whether something is on: it is something that is switched
_SWITCHED_DEVICE = 2.5
# A thing was said that this tool knows nothing of; a required argument was not said
_STRANGE = 2.0
_MISSING = 1.0
# It was said for how long, and it cannot be told that
_SPARE = 2.5
# From here on a reading is believed
ENOUGH = 2.6
# Closer than this, two readings are one question
MARGIN = 0.6


class ToolReading(Struct, frozen=True):
    """Tool as the meaning of a clause, and its score."""

    profile: Profile
    filled: Filled
    score: float


def orders(clause: Clause) -> bool:
    """Return true if something is wanted done, whether it is ordered, asked or denied."""
    if clause.paths and "write" not in clause.actions:
        # To open a file is to look into it
        return "delete" in clause.actions
    if clause.actions & ORDERS:
        return True
    bare = not clause.marks & {"state", "question", "ask", "fact", "above", "below"}
    if (
        bare
        and "read" not in clause.actions
        and (clause.aims or any(_is_level(one) for one in clause.amounts))
    ):
        return True
    return bool(clause.values) and bare and "read" not in clause.actions


def _is_level(amount: Amount) -> bool:
    """Return true for a share: said of an output, it is the level to set."""
    return amount.is_part or (amount.unit is not None and amount.unit.kind == "share")


def readings(clause: Clause, box: Toolbox, *, acting: bool) -> list[ToolReading]:
    """Return the believable readings, best first, among tools that act or those that read."""
    scored = [_scored(profile, clause, box) for profile in box.speakable if profile.acts is acting]
    believable = [reading for reading in scored if reading.score >= ENOUGH]
    return sorted(believable, key=lambda reading: (-reading.score, reading.profile.name))


def strangers(reading: ToolReading, clause: Clause, words: AbstractSet[str]) -> frozenset[str]:
    """Return known things in a clause that neither these words nor the arguments explain."""
    measures = {sense for piece in clause.measures for sense in piece.senses}
    measures |= levels_told(reading.profile, clause)
    used = reading.filled.explained | {
        said for said in clause.things if any(closeness(word, {said}) for word in words)
    }
    # A form with several senses is accounted for by one of them: the others say which part
    told = {sense for piece in clause.pieces if used & set(piece.senses) for sense in piece.senses}
    return frozenset(
        said for said in clause.things - used - told - measures if not said.startswith("~")
    )


def levels_told(profile: Profile, clause: Clause) -> frozenset[str]:
    """Return words for the level that the tool sets: brightness, speed, position."""
    shares = any(one.unit and one.unit.kind == "share" for one in profile.parameters)
    return clause.things & quantities().keys() - {"temperature"} if shares else frozenset()


def _scored(profile: Profile, clause: Clause, box: Toolbox) -> ToolReading:
    filled = fill(profile, clause)
    reading = ToolReading(profile, filled, 0.0)
    score = _name(profile, clause, box) + _about(profile, clause) + _DEVICE * filled.named
    score += _ALONE_TELLS * _alone_tells(profile, clause, box)
    if profile.acts and not score:
        # On or off alone is said of something else
        return reading
    score += _SWITCH * (filled.switched and profile.acts)
    score += _fit(profile, clause)
    if clause.values and not profile.acts and is_switched(reading, box):
        score += _SWITCHED_DEVICE
    score -= _SPARE * (_lasting(clause) and not filled.numbers)
    score -= _STRANGE * len(strangers(reading, clause, profile.words | profile.about))
    given = [one for one in profile.parameters if one.required and one.kind == "string"]
    score += _FILE * any(one.name in filled.arguments for one in given)
    missing = [
        one
        for one in profile.parameters
        if one.needed and one.name not in filled.arguments and one.name not in filled.tied
    ]
    return ToolReading(profile, filled, score - _MISSING * len(missing))


def _lasting(clause: Clause) -> bool:
    """Return true if a duration was said."""
    return any(one.lasts and one.unit and one.unit.kind == TIME for one in clause.amounts)


def _name(profile: Profile, clause: Clause, box: Toolbox) -> float:
    said = clause.things | clause.actions | ({"file"} if clause.paths else frozenset())
    score = 0.0
    for word in profile.words:
        weight = _NAME_VERB if word in actions() else _NAME
        score += weight * closeness(word, said) / math.sqrt(max(1, box.share(word)))
    # What several tools are called tells none of them apart
    named = {word for word in things(profile.words) if box.share(word) == 1}
    whole = bool(named) and all(closeness(word, said) for word in named)
    return score + _WHOLE_NAME * whole


def _about(profile: Profile, clause: Clause) -> float:
    hits = (profile.about - profile.words) & (clause.things | clause.actions)
    return min(_ABOUT_MOST, _ABOUT * len(hits))


def _alone_tells(profile: Profile, clause: Clause, box: Toolbox) -> bool:
    """Return true if a measured thing was said by a name that only this description has."""
    said = clause.things & hardware() & profile.about
    if profile.acts or not said or not profile.device:
        return False
    named = frozenset().union(*(one.words for one in box.speakable))
    devices = [one.device for one in box.speakable if one.device is not None]
    return not said & named.union(*(choice.senses for one in devices for choice in one.choices))


def _fit(profile: Profile, clause: Clause) -> float:
    wanted = orders(clause)
    if profile.acts:
        return _FIT if wanted else 0.0
    asked = clause.marks & {"question", "ask", "state"}
    return -_MISFIT if wanted and not asked else _FIT


def is_switched(reading: ToolReading, box: Toolbox) -> bool:
    """Return true if the tool reads something that another tool turns on and off."""
    device = reading.profile.device
    if device is None or device.name not in reading.filled.arguments:
        return False
    return str(reading.filled.arguments[device.name]) in box.switched()
