"""Sentences of timers, reminders and jobs in a person's language: at the end, late, on request."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from agent.providers.offline.conversation import Exchange, table_of
from agent.providers.offline.lexicon import LANGUAGES
from agent.providers.offline.rehearsal_lines import rehearsal_lines
from agent.providers.offline.voice import Voice

# Longer than this, seconds are noise
_SHORT_S = 600
_Tell = Callable[[Mapping[str, Any], Voice], str]


class _Ended(Protocol):
    """A timer, as far as it is spoken of."""

    @property
    def seconds(self) -> float: ...

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> str: ...

    @property
    def text(self) -> str: ...


class SpokenTimers:
    """See `agent.schedule.timer.TimerWords`; a language that is not known is English."""

    def __init__(self, code: str) -> None:
        self._voice = _voice(code)

    def ended(self, timer: _Ended) -> str:
        if timer.text:
            return self._voice.say("reminder", text=timer.text)
        return self._voice.say("timer_ended", timer=_named(self._voice, _table(timer)))

    def missed(self, timer: _Ended, ago_s: float) -> str:
        ago = self._voice.span(_rounded(ago_s))
        if timer.order:
            return self._voice.say("timer_missed_order", ago=ago, order=timer.order)
        if timer.text:
            return self._voice.say("reminder_missed", ago=ago, text=timer.text)
        return self._voice.say("timer_missed", ago=ago, timer=_named(self._voice, _table(timer)))


def reminder(text: str, code: str) -> str:
    """Return a reminder as it is said at its time."""
    return _voice(code).say("reminder", text=text)


def late_reminder(text: str, code: str) -> str:
    """Return a reminder that is said too late, with the word that it is."""
    return _voice(code).say("reminder_late", text=text)


def timer_told(result: Mapping[str, Any], voice: Voice) -> str:
    """Return what came of an order about timers or jobs; empty for a result of another shape."""
    for key, told in result.items():
        if key in _TELLING and isinstance(told, Mapping):
            return _TELLING[key](told, voice)
        if key in _LISTING and isinstance(told, list):
            return _LISTING[key](told, voice)
    return ""


def reminders_alone(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the exchanges without jobs that only do something, if reminders were asked for."""
    if not any(one.order.arguments.get("reminder") for one in exchanges):
        return exchanges
    kept = [one for exchange in exchanges if (one := _reminding(exchange)) is not None]
    # Where there are others, nobody wants to hear that there are none of a kind
    return [one for one in kept if table_of(one.result).get("reminders") != []] or kept


def _reminding(exchange: Exchange) -> Exchange | None:
    """Return an exchange with those of its jobs that say something; None if it has no other."""
    jobs = table_of(exchange.result).get("jobs")
    if not isinstance(jobs, list):
        return exchange
    saying = [job for job in jobs if isinstance(job, Mapping) and job.get("message")]
    return Exchange(exchange.order, json.dumps({"jobs": saying})) if saying else None


def _started(told: Mapping[str, Any], voice: Voice) -> str:
    if told.get("order"):
        return voice.say("order_in", span=_span_of(told, voice), order=str(told["order"]))
    name = _named(voice, told)
    if not isinstance(told.get("ends"), str):
        return voice.say("timer_started", timer=name)
    return voice.say("timer_ends", timer=name, time=_clock(told["ends"]))


def _reminder(told: Mapping[str, Any], voice: Voice) -> str:
    kind = "order" if told.get("order") else "reminder"
    slots = {"order": str(told.get("order", "")), "text": str(told.get("text", ""))}
    if "seconds" in told:
        return voice.say(f"{kind}_in", span=_span_of(told, voice), **slots)
    when = "every" if told.get("every") else "at"
    said = voice.say(f"{kind}_{when}", time=_moment(str(told.get("first", ""))), **slots)
    return "\n".join([said, *rehearsal_lines(told)])


def _changed(told: Mapping[str, Any], voice: Voice) -> str:
    key = "timer_paused" if told.get("state") == "paused" else "timer_left"
    left = voice.span(float(told.get("left_seconds", 0)))
    return voice.say(key, timer=_named(voice, told), left=left)


def _cancelled(told: Sequence[Any], voice: Voice) -> str:
    timers = [one for one in told if isinstance(one, Mapping)]
    return voice.joined([voice.say("timer_cancelled", timer=_named(voice, one)) for one in timers])


def _listed(none: str, tell: _Tell, told: Sequence[Any], voice: Voice) -> str:
    lines = [tell(one, voice) for one in told if isinstance(one, Mapping)]
    return "\n".join(lines) or voice.say(none)


def _job(told: Mapping[str, Any], voice: Voice) -> str:
    name = str(told.get("name", "")).replace("_", " ")
    text = voice.quoted(str(told.get("message") or told.get("prompt") or ""))
    if told.get("state") == "paused":
        return voice.say("job_held", name=name, text=text)
    if "next" not in told:
        return voice.say("job_plain", name=name, text=text)
    return voice.say("job_next", name=name, text=text, time=_moment(str(told["next"])))


_TELLING: Mapping[str, _Tell] = {
    "started": _started,
    "reminder": _reminder,
    "changed": _changed,
}
_LISTING: Mapping[str, Callable[[Sequence[Any], Voice], str]] = {
    "timers": partial(_listed, "timers_none", _changed),
    "reminders": partial(_listed, "reminders_none", _changed),
    "jobs": partial(_listed, "jobs_none", _job),
    "cancelled": _cancelled,
}
_JOB_TOOLS = "cron_"
_DEEDS = frozenset({"removed", "paused", "resumed", "running"})


def job_told(tool: str, result: Mapping[str, Any], voice: Voice) -> str:
    """Return what came of an order about one job; empty for any other."""
    if not tool.startswith(_JOB_TOOLS):
        return ""
    deed = next((one for one in _DEEDS if isinstance(result.get(one), str)), "")
    return voice.say(f"job_{deed}", name=str(result[deed])) if deed else ""


def _named(voice: Voice, told: Mapping[str, Any]) -> str:
    length = _span_of(told, voice)
    for key, field in (("named", "name"), ("order", "order"), ("reminder", "text")):
        if value := str(told.get(field) or ""):
            return voice.say(f"timer_{key}", span=length, **{field: value})
    return voice.say("timer_plain", span=length)


def _table(timer: _Ended) -> dict[str, Any]:
    fields = ("seconds", "name", "order", "text")
    return {field: getattr(timer, field) for field in fields}


def _span_of(told: Mapping[str, Any], voice: Voice) -> str:
    seconds = told.get("seconds", 0)
    return voice.span(float(seconds) if isinstance(seconds, (int, float)) else 0.0)


def _rounded(seconds: float) -> float:
    return seconds if seconds < _SHORT_S else round(seconds / 60) * 60.0


def _clock(iso: str) -> str:
    try:
        return f"{datetime.fromisoformat(iso):%H:%M:%S}".removesuffix(":00")
    except ValueError:
        return iso


def _moment(iso: str) -> str:
    """Return a date and a time without the parts that people do not say."""
    try:
        return f"{datetime.fromisoformat(iso):%H:%M (%Y-%m-%d)}"
    except ValueError:
        return iso


def _voice(code: str) -> Voice:
    return Voice(code if code in LANGUAGES else "en")
