"""Results of questions about memories' origins, documents and watches, and of several readings.

Text in a result is only ever quoted.
"""

from collections.abc import Mapping
from typing import Any

from agent.providers.offline.documents import pieces_told
from agent.providers.offline.plan import Order
from agent.providers.offline.toolbox import MEMORY_SOURCE
from agent.providers.offline.wording import Voice

# A list that somebody reads, or hears
_MAX_NAMES = 40


def finding(order: Order, result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """A result of one of these shapes in words; empty for any other."""
    if order.tool == MEMORY_SOURCE:
        return _origin(result, voice)
    if isinstance(result.get("found"), list):
        return pieces_told(result["found"], voice) or voice.say("nothing_found")
    if isinstance(result.get("units"), dict):
        return _measured(order, result, voice, asked)
    return _watch(order, result, voice)


def _origin(result: Mapping[str, Any], voice: Voice) -> str:
    """Who said a memory, and where it came from."""
    date, content = str(result.get("date", "")), str(result.get("content", ""))
    said = voice.say("told_by", who=voice.person(result), date=date, content=voice.quoted(content))
    source = result.get("source")
    return voice.joined([said, voice.say("told_from", source=str(source)) if source else ""])


def _watch(order: Order, result: Mapping[str, Any], voice: Voice) -> str:
    """What is watched from now on, or no more, or all that is."""
    if isinstance(result.get("watching"), str):
        text = str(order.arguments.get("say") or result["watching"])
        return voice.say("watch_set", text=voice.quoted(text.replace("{value}", "…")))
    if isinstance(result.get("removed"), str) and order.tool.endswith("watch_remove"):
        return voice.say("watch_removed", name=result["removed"].replace("_", " "))
    if not isinstance(result.get("watches"), list):
        return ""
    names = [
        str(one["name"]).replace("_", " ")
        for one in result["watches"]
        if isinstance(one, dict) and "name" in one
    ]
    return (
        voice.say("watches", watches=voice.say("comma").join(names))
        if names
        else voice.say("no_watches")
    )


def _measured(order: Order, result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """Several values with their units: those that were asked for, else all of them."""
    units = {key: unit for key, unit in result["units"].items() if key in result}
    wanted = [key for key in units if key in asked] or list(units)
    told = [
        voice.say(
            "measure", thing=voice.thing(key), value=f"{voice.value(result[key])} {units[key]}"
        )
        for key in wanted
    ]
    device = result.get("pin")
    name = f"{voice.thing(device)}: " if isinstance(device, str) and order.arguments else ""
    return f"{name}{voice.joined(told)}" if told else ""
