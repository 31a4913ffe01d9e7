"""The clock, the computer and the board, told in sentences from their results."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.providers.offline.wording import Voice

_MINUTE_S = 60
_HOUR_S = 3600
# Names that are read out of a board's description; it has a few dozen pins
_MAX_NAMES = 40


def machine_sentences(result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """Sentences for a result of these shapes; empty for any other."""
    if {"time", "weekday"} <= result.keys():
        return _clock(result, voice)
    if "memory_total_mb" in result or "uptime_s" in result:
        return _computer(result, voice, asked)
    if "state" in result and not result.keys().isdisjoint({"pins", "methods", "board"}):
        return _board(result, voice)
    return ""


def _clock(result: Mapping[str, Any], voice: Voice) -> str:
    try:
        moment = datetime.fromisoformat(str(result["time"]))
    except ValueError:
        return ""
    return voice.say(
        "time",
        time=moment.strftime("%H:%M"),
        date=moment.strftime("%Y-%m-%d"),
        weekday=voice.weekday(str(result["weekday"])),
        timezone=str(result.get("timezone", "")),
    )


def _computer(result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """What was asked of it, or everything it says."""
    sentences = {
        "ram": _share("ram", result, "memory", voice),
        "disk": _share("disk", result, "disk", voice),
        "load": _measure("load", result.get("load_1min"), voice),
        "temperature": _measure("cpu", result.get("temperature_c"), voice),
        "uptime": _uptime(result.get("uptime_s"), voice),
        "throttled": _throttled(result.get("throttled"), voice),
    }
    wanted = [key for key in sentences if key in asked and sentences[key]]
    return voice.joined([sentences[key] for key in wanted or sentences])


def _share(key: str, result: Mapping[str, Any], name: str, voice: Voice) -> str:
    free, total = result.get(f"{name}_free_mb"), result.get(f"{name}_total_mb")
    if not isinstance(free, (int, float)) or not isinstance(total, (int, float)):
        return ""
    return voice.say(key, free=voice.number(round(free)), total=voice.number(round(total)))


def _measure(key: str, value: object, voice: Voice) -> str:
    return voice.say(key, value=voice.number(value)) if isinstance(value, (int, float)) else ""


def _uptime(value: object, voice: Voice) -> str:
    if not isinstance(value, (int, float)):
        return ""
    hours, rest = divmod(int(value), _HOUR_S)
    span = voice.say("hours", hours=str(hours), minutes=str(rest // _MINUTE_S))
    return voice.say("uptime", value=span)


def _throttled(value: object, voice: Voice) -> str:
    if not isinstance(value, list) or not value:
        return ""
    return voice.say("throttled", value=voice.say("comma").join(map(str, value)))


def _board(result: Mapping[str, Any], voice: Voice) -> str:
    state = str(result["state"])
    shown = voice.say("ready") if state == "ready" else voice.reason(state)
    sentences = [voice.say("board", board=str(result.get("board") or ""), state=shown)]
    sentences += [
        voice.say(key, value=str(result[key])) for key in ("firmware", "port") if result.get(key)
    ]
    for key in ("pins", "methods"):
        names = _names(result.get(key))
        if names:
            sentences.append(voice.say(key, value=voice.say("comma").join(names)))
    return voice.joined(sentences)


def _names(value: object) -> list[str]:
    entries = value[:_MAX_NAMES] if isinstance(value, list) else []
    return [str(one.get("name", "?")) if isinstance(one, Mapping) else str(one) for one in entries]
