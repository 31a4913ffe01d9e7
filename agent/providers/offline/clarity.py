"""Test if an order is plain enough to be done without a question.

Every word of it must be explained: by the vocabulary, by the tool, by an argument. A time, a
condition, somebody else's words or a denial beside it make it doubtful.
"""

from agent.providers.offline.clauses import Clause
from agent.providers.offline.pieces import Piece, stem
from agent.providers.offline.readings import ToolReading, strangers
from agent.providers.offline.toolbox import spelling_of

ASKING = frozenset({"question", "ask", "fact"})
CONDITIONS = frozenset({"suppose", "later", "past"})
DOUBTS = frozenset({"report", "self"})
# What an order of a switch has no use for: with it, something else is meant
_WISHES = frozenset(
    {
        *("more", "less", "above", "below", "changes", "another", "watch", "unwatch"),
        *("source", "there", "sheet"),
    }
)
# Verbs that tell of a way as well as of where it ends
_TURNING = frozenset({"move", "switch"})
# The sentence that goes before the question when something was to happen at another time
ONLY_NOW = "only_now"


def doubt(reading: ToolReading, clause: Clause) -> str | None:
    """Return the reason to ask first: the name of a sentence, or empty; None for a plain order."""
    marks = clause.marks
    if marks & CONDITIONS and not _is_measured(reading, clause):
        return ONLY_NOW
    asked = "question" in marks and "request" not in marks
    wishes = _WISHES - {"more", "less"} if clause.aims else _WISHES
    if clause.doubted or marks & (DOUBTS | wishes) or asked:
        return ""
    if strangers(reading, clause, reading.profile.words) or _spare_numbers(reading, clause):
        return ""
    if _is_contrary(reading, clause) or _may_be_by(reading, clause):
        return ""
    return None if all(_is_explained(piece, reading, clause) for piece in clause.unknown) else ""


def _is_measured(reading: ToolReading, clause: Clause) -> bool:
    """Return true if words that sound like a time are an argument: for ten seconds, three times."""
    if clause.put_off or clause.marks & {"suppose", "past"}:
        return False
    later = [p for p in clause.pieces if "later" in p.senses and "during" not in p.senses]
    return bool(reading.filled.numbers) and all(p in clause.measures for p in later)


def _spare_numbers(reading: ToolReading, clause: Clause) -> bool:
    joined = [one for one in clause.joined_names if one in reading.filled.explained]
    return len(clause.numbers) > reading.filled.numbers + len(joined)


def _is_contrary(reading: ToolReading, clause: Clause) -> bool:
    """Return true for an output that is to be off and at a number: the fan off at 50 %.

    On and at a bare number may be the number of another one: turn fan 2 on.
    """
    numbers = [one for one in reading.filled.arguments.values() if isinstance(one, int | float)]
    if reading.profile.switch is not None or not any(numbers):
        return False
    bare = any(one.unit is None and not one.is_part for one in clause.amounts)
    return "off" in clause.values or ("on" in clause.values and bare and not clause.aims)


def _may_be_by(reading: ToolReading, clause: Clause) -> bool:
    """Return true for a turn that may be by so much, or to there: turn the servo 10 degrees."""
    turns = clause.actions & _TURNING and "set" not in clause.actions
    positions = [
        one
        for one in reading.profile.parameters
        if one.kind in {"number", "integer"} and one.name in reading.filled.arguments
        if one.kept_by is None and (one.unit is None or one.unit.kind == "angle")
    ]
    return bool(turns and positions) and clause.is_far_or_there


def _is_explained(piece: Piece, reading: ToolReading, clause: Clause) -> bool:
    names = [reading.profile.name, *map(str, reading.filled.arguments.values())]
    spelled = {word for name in names for word in spelling_of(name).split()}
    own = reading.profile.words | reading.filled.explained
    return f"~{stem(piece.text)}" in own or piece.text in spelled or piece in clause.measures
