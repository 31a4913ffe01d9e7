"""Words of a rehearsal in a person's language: how often, how long, and what the board refused."""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Protocol

from msgspec import Struct

from agent.link import frame as wire
from agent.readings.order_acts import OrderAct, TimedOrder
from agent.readings.periods import Span, is_night, local_time
from agent.readings.rehearsal import Past
from agent.readings.store import DAY_MS

_BUSY, _INTERLOCK = wire.CODES.index("busy"), wire.CODES.index("interlock")
# With less of the past than this something is worth a word
WHOLE_SHARE = 0.98
_MS = 1000
_UNITS_S = (86_400, 3600, 60)
_SOME = 3


class RehearsalVoice(Protocol):
    """Seam to the sentences of a language."""

    def say(self, key: str, **slots: str) -> str: ...

    def times(self, count: int) -> str:
        """Return the count as an adverb, such as twice."""

    def span(self, seconds: float) -> str: ...

    def thing(self, name: str) -> str: ...

    def value(self, value: object, thing: str = "") -> str: ...

    def joined(self, sentences: Sequence[str]) -> str: ...


# The voice of a language by its code; English for one that is not known
FindVoice = Callable[[str], RehearsalVoice]


class Occurrences(Struct, frozen=True):
    """Times at which a job would have run or a watch would have told.

    Args:
        kind: run, told or begun: the sentence that tells of it.
        name: of the job or the watch.
        untold: how often it would have been quiet, because it had told often enough.
        is_cut: it was looked at only so far.
        watched: the reading, where one is watched.
        limits: of the watch, in the reading's unit.
    """

    kind: str
    name: str
    times_ms: Sequence[int]
    span: Span
    untold: int = 0
    is_cut: bool = False
    watched: Past | None = None
    limits: tuple[float, ...] = ()


def told_of(found: Occurrences, voice: RehearsalVoice, zone: tzinfo | None) -> str:
    """Return how often it would have been."""
    days = max(1, round(found.span.length_ms / DAY_MS))
    of = voice.say("days", days=str(days)) if days > 1 else voice.say("day")
    count = len(found.times_ms)
    if not count:
        return voice.say(f"{found.kind}_never", of=of)
    times = voice.say("more_than", times=voice.times(count)) if found.is_cut else voice.times(count)
    nightly = sum(is_night(at_ms, zone) for at_ms in found.times_ms)
    last = moment(found.times_ms[-1], zone)
    said = voice.say(
        found.kind,
        of=of,
        times=times,
        night=voice.say("night", times=voice.times(nightly)),
        last=last,
    )
    quiet = voice.say("quiet", times=voice.times(found.untold)) if found.untold else ""
    return voice.joined([said, quiet, _known_in_words(found, voice)])


def _known_in_words(found: Occurrences, voice: RehearsalVoice) -> str:
    """Return what is missing of the reading that is watched; empty where all is there."""
    past = found.watched
    if past is None or past.known_ms >= WHOLE_SHARE * found.span.length_ms:
        return ""
    known_s = _rounded(past.known_ms // _MS)
    return voice.say("partial", thing=voice.thing(past.reading.name), span=voice.span(known_s))


def _rounded(length_s: int) -> int:
    """Return the length in the coarsest unit of which there are some."""
    unit_s = next((one for one in _UNITS_S if length_s >= _SOME * one), 1)
    return round(length_s / unit_s) * unit_s


def cut_in_words(span: Span, voice: RehearsalVoice, zone: tzinfo | None) -> str:
    """Return until when orders were tried."""
    return voice.say("cut", until=moment(span.end_ms, zone))


def moment(at_ms: int, zone: tzinfo | None) -> str:
    """Return a time of day with its day, as rehearsals tell it."""
    return f"{local_time(at_ms, zone):%Y-%m-%d %H:%M}"


def unknown_in_words(count: int, names: Sequence[str], voice: RehearsalVoice) -> str:
    """Return how often nothing is known of readings that the orders need."""
    needs = ", ".join(voice.thing(name) for name in names)
    return voice.say("unknown", times=voice.times(count), need=needs)


class OrderResult(Struct, frozen=True):
    """Outcome of one order at all of its times.

    Args:
        shown: what it sets its output to, in the board's word.
        needs: each pin that must be so while it is on, with the value.
        span: that was looked at.
    """

    order: TimedOrder
    shown: object
    acts: Sequence[OrderAct]
    needs: Sequence[tuple[str, str]]
    span: Span


def result_in_words(done: OrderResult, voice: RehearsalVoice) -> str:
    """Return how often and how long the output would have been so, and what was refused."""
    thing = voice.thing(done.order.output)
    value = voice.value(done.shown, thing)
    acts = [one for one in done.acts if not one.code]
    longest_s = max((one.length_ms for one in acts), default=0) / _MS
    slots = {"thing": thing, "value": value, "times": voice.times(len(acts))}
    if acts and longest_s:
        said = voice.say("set_for", span=voice.span(longest_s), **slots)
    else:
        said = voice.say("set", **slots)
    # What is still on at the end has not ended
    over = [one for one in acts if one.end_ms < done.span.end_ms]
    early = sum(0 < one.length_ms < done.order.for_ms for one in over)
    ended = voice.say("early", times=voice.times(early)) if early else ""
    return voice.joined([said, ended, *_refusals(done, thing, voice)])


def _refusals(done: OrderResult, thing: str, voice: RehearsalVoice) -> list[str]:
    refused = [one for one in done.acts if one.code]
    said: list[str] = []
    for name, wanted in done.needs:
        need, value = voice.thing(name), voice.value(wanted, voice.thing(name))
        count = sum(one.code == _INTERLOCK and one.unmet == name for one in refused)
        if count:
            times = voice.times(count)
            said.append(voice.say("refused_needs", times=times, need=need, value=value))
        elif done.acts:
            said.append(voice.say("needs_met", need=need, value=value))
    if busy := sum(one.code == _BUSY for one in refused):
        said.append(voice.say("refused_busy", times=voice.times(busy), thing=thing))
    others = [one for one in refused if one.code not in {_BUSY, _INTERLOCK}]
    if others:
        code = wire.CODES[others[-1].code].replace("_", " ")
        said.append(voice.say("refused", times=voice.times(len(others)), code=code))
    return said
