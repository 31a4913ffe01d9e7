"""Questions about what was recorded: "how warm was it last night", and the answers.

A question has a time or a superlative, and speaks of the past; a wish, order or denial is none.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.providers.offline.clauses import Clause
from agent.providers.offline.lexicon import lexicon, variants
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import CallStep, Order, Step
from agent.providers.offline.readings import MARGIN, readings
from agent.providers.offline.slots import best_choices
from agent.providers.offline.toolbox import Choice, Toolbox
from agent.providers.offline.units import split, tidy
from agent.providers.offline.voice import Voice
from agent.providers.offline.watch_orders import watchable

QUERY = "readings_query"
# Of the present they say nothing, whatever the verb is
_PAST_PERIODS = frozenset({"yesterday", "night", "last_week", "last_month"})
_NO_QUESTION = frozenset({"watch", "negate", "report", "unwatch", "mine"})
# What the tool calls it that a question is about
_ONLY = {
    "lowest": "lowest",
    "coldest": "lowest",
    "highest": "highest",
    "warmest": "highest",
    "mean": "mean",
    "on_time": "on_s",
    "times": "times_on",
}
_OF_SWITCHES = frozenset({"on_s", "times_on"})
# Quantities that a sensor may have; the tool knows which one has it
_MEASURES = ("temperature", "humidity", "pressure", "moisture", "voltage", "distance")
_MINUTES = slice(0, 16)


def about_past_readings(analysis: Analysis, clauses: Sequence[Clause], box: Toolbox) -> Step | None:
    """Return the query that answers a question about the past of a sensor or output."""
    if box.find(QUERY) is None:
        return None
    history: Mapping[str, Any] = lexicon(analysis.code).wording["history"]
    said = [unit.text for unit in split(tidy(analysis.text), variants())]
    period = _longest(said, history["periods"])
    asked = _longest(said, {key: history["asked"][key] for key in _ONLY})
    is_past = period in _PAST_PERIODS or bool(_longest(said, {"past": history["asked"]["past"]}))
    only = _ONLY.get(asked, "")
    if not (is_past and (period or only)) and not (period and only):
        return None
    clause = Clause(analysis.pieces, frozenset(), code=analysis.code)
    if clause.marks & _NO_QUESTION or _orders(clauses):
        return None
    reading = _reading(clause, asked, only, box)
    if not reading:
        return None
    arguments = {"reading": reading, "period": period or "day"}
    return CallStep((Order(QUERY, arguments | ({"only": only} if only else {})),))


def past_told(result: Mapping[str, Any], voice: Voice) -> str:
    """Return a summary of a reading in words; empty for any other result."""
    if not {"reading", "from", "to"} <= result.keys():
        return ""
    say: Mapping[str, str] = lexicon(voice.code).wording["history"]["say"]
    slots = _slots(result, voice)
    key = next((one for one, needed in _SENTENCES if needed <= result.keys()), "none")
    told = voice.fill(say[key], **slots)
    if "missing" in result:
        told = f"{told} {say['partly']}"
    return voice.written(told[:1].upper() + told[1:])


# The first that the result has everything for
_SENTENCES = (
    ("range", frozenset({"lowest", "highest", "mean"})),
    ("lowest", frozenset({"lowest"})),
    ("highest", frozenset({"highest"})),
    ("mean", frozenset({"mean"})),
    ("on", frozenset({"on_s"})),
    ("times", frozenset({"times_on"})),
)


def _slots(result: Mapping[str, Any], voice: Voice) -> dict[str, str]:
    unit = str(result.get("unit", ""))

    def shown(value: object) -> str:
        return f"{voice.value(value)} {unit}".strip()

    slots = {"thing": voice.thing(_called(str(result["reading"])))}
    for key, name in (("lowest", "low"), ("highest", "high")):
        if isinstance(one := result.get(key), Mapping):
            at = str(one.get("at", ""))[_MINUTES]
            slots |= {name: shown(one.get("value")), f"{name}_time": at}
            slots |= {"value": shown(one.get("value")), "time": at}
    if "mean" in result:
        mean = shown(result["mean"])
        slots |= {"mean": mean} | ({} if "value" in slots else {"value": mean})
    if isinstance(on_s := result.get("on_s"), (int, float)):
        slots["span"] = voice.span(float(on_s))
    if "times_on" in result:
        slots["count"] = voice.value(result["times_on"])
    return slots


def _called(reading: str) -> str:
    """Return what a person calls it: a quantity says more than the pin that has it."""
    pin, _, part = reading.rpartition(":")[2].partition(".")
    return part if part in _MEASURES else pin


def _orders(clauses: Sequence[Clause]) -> bool:
    """Return true if something is to be done, and not only to be told."""
    return any(clause.actions - {"read", "list", "time"} for clause in clauses)


def _reading(clause: Clause, asked: str, only: str, box: Toolbox) -> str:
    if asked in {"coldest", "warmest"}:
        return "temperature"
    found: list[tuple[float, str]] = [
        (one.score, name)
        for one in readings(clause, box, acting=False)
        if only not in _OF_SWITCHES or one.profile.about & {"on", "off"}
        for name in watchable(one, clause)
    ]
    measure = next((one for one in _MEASURES if one in clause.senses), "")
    if not found and not measure:
        found = [(1.0, choice.text) for choice in _named(clause, box)]
    best = max((score for score, _ in found), default=0.0)
    names = list(dict.fromkeys(name for score, name in found if score > best - MARGIN))
    if len(names) == 1 and not names[0].startswith("mcu_"):
        return names[0]
    # Of several that would do, the record knows which are there
    return measure or (names[0] if names else "")


def _named(clause: Clause, box: Toolbox) -> Sequence[Choice]:
    """Return the pins that are named where no tool reads them as it was said."""
    return best_choices(
        tuple(
            choice
            for profile in box.speakable
            if profile.device is not None and profile.device.required and not profile.acts
            for choice in profile.device.choices
        ),
        clause,
    )


def _longest(said: Sequence[str], table: Mapping[str, Iterable[str]]) -> str:
    """Return the key of the longest phrase that was said; empty if none was."""
    best, found = 0, ""
    for key, phrases in table.items():
        for phrase in phrases:
            words = [unit.text for unit in split(phrase, variants())]
            width = len(words)
            places = range(len(said) - width + 1)
            if width > best and any(said[at : at + width] == words for at in places):
                best, found = width, key
    return found
