"""Sentences about the clock, the computer and the board, from their results."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.providers.offline.voice import Voice

_MINUTE_S = 60
_HOUR_S = 3600
# Names that are read out of a board's description; it has a few dozen pins
_MAX_NAMES = 40
_BOARD_FACTS = {"trouble": "trouble", "board": "model", "firmware": "firmware", "port": "port"}


def machine_sentences(result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """Return sentences for a result of these shapes; empty for any other."""
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
    """Tell the values of the computer that were asked for, else all of them."""
    sentences = {
        "ram": _share("ram", result, "memory", voice),
        "disk": _share("disk", result, "disk", voice),
        "load": _measure("load", result.get("load_1min"), voice),
        "temperature": _measure("cpu", result.get("temperature_c"), voice),
        "uptime": _uptime(result.get("uptime_s"), voice),
        "throttled": _throttled(result.get("throttled"), voice),
        "wifi": _measure("wifi", _within(result, "wifi", "quality_percent"), voice),
        # A card that makes none is nothing to speak of
        "card": _measure("card", _within(result, "card", "errors") or None, voice),
    }
    wanted = [key for key in sentences if key in asked and sentences[key]]
    return voice.joined([sentences[key] for key in wanted or sentences])


def _share(key: str, result: Mapping[str, Any], name: str, voice: Voice) -> str:
    free, total = _finite(result.get(f"{name}_free_mb")), _finite(result.get(f"{name}_total_mb"))
    if free is None or total is None:
        return ""
    return voice.say(key, free=voice.number(round(free)), total=voice.number(round(total)))


def _measure(key: str, value: object, voice: Voice) -> str:
    number = _finite(value)
    return "" if number is None else voice.say(key, value=voice.number(number))


def _within(result: Mapping[str, Any], name: str, field: str) -> object:
    found = result.get(name)
    return found.get(field) if isinstance(found, Mapping) else None


def _finite(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def _uptime(value: object, voice: Voice) -> str:
    seconds = _finite(value)
    if seconds is None:
        return ""
    hours, rest = divmod(int(seconds), _HOUR_S)
    span = voice.say("hours", hours=str(hours), minutes=str(rest // _MINUTE_S))
    return voice.say("uptime", value=span)


def _throttled(value: object, voice: Voice) -> str:
    if not isinstance(value, list) or not value:
        return ""
    return voice.say(
        "throttled", value=voice.say("comma").join(str(one).replace("_", " ") for one in value)
    )


def _board(result: Mapping[str, Any], voice: Voice) -> str:
    sentences = [voice.say("board", state=voice.reason(str(result["state"])))]
    sentences += [
        voice.say(said, value=str(result[key]))
        for key, said in _BOARD_FACTS.items()
        if result.get(key)
    ]
    names = _names(result.get("pins"))
    if names:
        sentences.append(voice.say("pins", value=voice.say("comma").join(names)))
    return voice.joined(sentences)


def _names(value: object) -> list[str]:
    entries = value[:_MAX_NAMES] if isinstance(value, list) else []
    names = [str(one.get("name", "?")) if isinstance(one, Mapping) else str(one) for one in entries]
    return [name.replace("_", " ") for name in names]
