"""Answers from results of tools, in the person's language: numbers, states, lists, failures.

Known shapes become sentences, whatever tool they come from; anything else is told as it is, key by
key. Text in a result is only ever quoted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.providers.offline.conversation import Exchange, table_of
from agent.providers.offline.documents import pieces_told
from agent.providers.offline.machine import machine_sentences
from agent.providers.offline.memory_answers import told
from agent.providers.offline.memory_orders import LIST
from agent.providers.offline.past_calls import FAILURE
from agent.providers.offline.past_readings import past_told
from agent.providers.offline.plan import Order
from agent.providers.offline.rehearsal_lines import rehearsal_lines
from agent.providers.offline.timer_words import job_told, reminders_alone, timer_told
from agent.providers.offline.toolbox import (
    MEMORY_FORGET,
    MEMORY_SOURCE,
    MEMORY_STORE,
    Profile,
    Toolbox,
)
from agent.providers.offline.voice import Voice, subject
from agent.text.printable import with_hidden_named

# A list that somebody reads, or hears


def finding(order: Order, result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """Return a result of one of these shapes in words; empty for any other."""
    if order.tool == MEMORY_SOURCE:
        return _origin(result, voice)
    if isinstance(result.get("found"), list):
        return pieces_told(result["found"], voice) or voice.say("nothing_found")
    if isinstance(result.get("units"), dict):
        return _measured(order, result, voice, asked)
    return _watch(order, result, voice) or _reflex(order, result, voice)


def _origin(result: Mapping[str, Any], voice: Voice) -> str:
    """Tell the source of a memory, and the person behind it."""
    date, content = str(result.get("date", "")), str(result.get("content", ""))
    said = voice.say("told_by", who=voice.person(result), date=date, content=voice.quoted(content))
    source = result.get("source")
    return voice.joined([said, voice.say("told_from", source=str(source)) if source else ""])


def _watch(order: Order, result: Mapping[str, Any], voice: Voice) -> str:
    """Tell what a watch tool did: set, removed or listed."""
    if isinstance(result.get("watching"), str):
        text = str(order.arguments.get("say") or result["watching"])
        said = voice.say("watch_set", text=voice.quoted(text.replace("{value}", "…")))
        return "\n".join([said, *rehearsal_lines(result)])
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


def _reflex(order: Order, result: Mapping[str, Any], voice: Voice) -> str:
    """Tell what became of a board's reflex."""
    if order.tool.endswith("reflex_delete") and isinstance(result.get("deleted"), str):
        return voice.say("reflex_deleted", name=result["deleted"])
    if order.tool.endswith("reflex_pause") and isinstance(result.get("reflex"), str):
        done = "reflex_paused" if result.get("paused") else "reflex_resumed"
        return voice.say(done, name=result["reflex"])
    return ""


def _measured(order: Order, result: Mapping[str, Any], voice: Voice, asked: frozenset[str]) -> str:
    """Tell several values with their units: those that were asked for, else all of them."""
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


# Longer answers are cut: a file is read in parts
_MAX_ANSWER_CHARS = 6000
# Of a file, so that what is said around it is never cut
_MAX_TEXT_CHARS = 5000
_FILE_MARK = re.compile(r"\[(?=(?:IMAGE|DOCUMENT|VIDEO|AUDIO|VOICE|FILE):)", re.IGNORECASE)
# A reason is a sentence or two
_MAX_REASON_CHARS = 400
_MAX_NAMES = 40
# A nested value of an unknown result is shown up to here
_MAX_VALUE_CHARS = 300


def answer(
    exchanges: Sequence[Exchange],
    box: Toolbox,
    voice: Voice,
    asked: frozenset[str],
    contents: Mapping[str, Any],
) -> str:
    """Return everything that came of a turn's calls, one sentence after the other.

    What was `asked` picks from a long result; `contents` names memories by their keys.
    """
    told = reminders_alone(exchanges)
    parts = [_told(exchange, box, voice, asked, contents) for exchange in told]
    lines = any("\n" in part for part in parts)
    return ("\n".join(parts) if lines else voice.joined(parts))[:_MAX_ANSWER_CHARS]


def _told(
    exchange: Exchange,
    box: Toolbox,
    voice: Voice,
    asked: frozenset[str],
    contents: Mapping[str, Any],
) -> str:
    order, text = exchange.order, exchange.result
    profile = box.find(order.tool)
    if text.startswith(FAILURE):
        words = text.removeprefix(FAILURE)
        # A call that was not understood is told with its parts
        words = str(table_of(words).get("message", words))
        reason = voice.reason(words[:_MAX_REASON_CHARS])
        return voice.say("failed", deed=voice.deed(order, profile), reason=reason)
    result = table_of(text)
    if not result:
        return text.strip() or voice.say("done")
    if order.tool in {MEMORY_STORE, MEMORY_FORGET}:
        return _remembered(exchange, result, voice, contents)
    if isinstance(result.get("memories"), list):
        return voice.sentence(told("", text, LIST, voice))
    if "value" in result:
        return _reading(exchange, profile, result, voice)
    # Only when something of its kind was found out
    return (
        timer_told(result, voice)
        or job_told(order.tool, result, voice)
        or past_told(result, voice)
        or finding(order, result, voice, asked)
        or _file_sentences(result, voice)
        or machine_sentences(result, voice, asked)
        or _plainly(result, voice)
    )


def _remembered(
    exchange: Exchange, result: Mapping[str, Any], voice: Voice, contents: Mapping[str, Any]
) -> str:
    if exchange.order.tool == MEMORY_STORE:
        return voice.say("stored", content=str(exchange.order.arguments.get("content", "")))
    if result.get("forgotten") is not True:
        return voice.say("not_forgotten")
    source = exchange.order.arguments.get("source")
    if source:
        count = str(result.get("count", ""))
        return voice.say("forgotten_from", source=str(source), count=count)
    content = contents.get(str(exchange.order.arguments.get("key")))
    return voice.say("forgotten", content=content) if content else voice.say("forgotten_key")


def _reading(
    exchange: Exchange, profile: Profile | None, result: Mapping[str, Any], voice: Voice
) -> str:
    thing = voice.thing(_name(exchange, profile, result))
    value, unit = result["value"], str(result.get("unit", ""))
    if unit or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return voice.say("measure", thing=thing, value=f"{voice.value(value)} {unit}".strip())
    shown = voice.value(value, thing)
    state = _state(value)
    if isinstance(lasts := result.get("for_seconds"), (int, float)):
        then = voice.value(result.get("then", ""), thing)
        length = voice.span(float(lasts))
        return voice.say("held_for", thing=thing, value=shown, span=length, then=then)
    if profile is None or not profile.acts:
        return voice.say(f"is_{state}", thing=thing, value=shown)
    wanted = profile.switch and exchange.order.arguments.get(profile.switch.name)
    if wanted is not None and wanted != value:
        asked_for = voice.value(wanted, thing)
        return voice.say("not_set", thing=thing, value=shown, wanted=asked_for)
    return voice.say(f"set_{state}", thing=thing, value=shown)


def _name(exchange: Exchange, profile: Profile | None, result: Mapping[str, Any]) -> str:
    """Return the name of a reading: from the order, else from the result, else the tool's."""
    name = subject(exchange.order, profile)
    pin = result.get("pin")
    named_by_tool = name == exchange.order.tool.split("_")[-1]
    return pin if named_by_tool and isinstance(pin, str) else name


def _state(value: object) -> str:
    if isinstance(value, str) and value in {"on", "off"}:
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    return "other"


def _file_sentences(result: Mapping[str, Any], voice: Voice) -> str:
    path = str(result.get("path", ""))
    if isinstance(result.get("text"), str):
        return _text_of_file(result, path, voice)
    if isinstance(result.get("entries"), list):
        names = [_entry(entry) for entry in result["entries"][:_MAX_NAMES]]
        listed = voice.say("comma").join(names)
        more = voice.say("more") if len(result["entries"]) > _MAX_NAMES else ""
        return (
            f"{voice.say('files', value=listed)} {more}".strip() if names else voice.say("no_files")
        )
    if path and isinstance(result.get("bytes"), int):
        return voice.say("written", path=path, bytes=str(result["bytes"]))
    return ""


def _text_of_file(result: Mapping[str, Any], path: str, voice: Voice) -> str:
    """Return the text as it is: no Markdown is made of it, and what hides in it is named."""
    text = result["text"].rstrip("\n")
    if not text:
        return voice.say("empty_file", path=path)
    # A marker in it would send another file along
    shown = _FILE_MARK.sub("[ ", with_hidden_named(text[: _MAX_TEXT_CHARS + 1]))
    is_cut = len(shown) > _MAX_TEXT_CHARS
    shown = shown[:_MAX_TEXT_CHARS]
    fence = "```"
    while fence in shown:
        fence += "`"
    page = result.get("page")
    name = path.rpartition("/")[2]
    pages = f"{page}/{result.get('pages')}"
    heading = voice.say("page", source=name, page=pages) if isinstance(page, int) else ""
    more = voice.say("more") if result.get("more") is True or is_cut else ""
    return "\n".join(filter(None, (heading, fence, shown, fence, more)))


def _entry(entry: object) -> str:
    if not isinstance(entry, Mapping):
        return str(entry)[:_MAX_VALUE_CHARS]
    mark = "/" if entry.get("kind") == "folder" else ""
    return f"{entry.get('name', '?')}{mark}"


def _plainly(result: Mapping[str, Any], voice: Voice) -> str:
    """Return a result of an unknown shape by its parts, under their own names."""
    lines = [
        f"{_key(key, voice)}: {_shown(value, voice)}"
        for key, value in list(result.items())[:_MAX_NAMES]
    ]
    return "\n".join(lines)


def _key(key: str, voice: Voice) -> str:
    return voice.label(key) or key.replace("_", " ")


def _shown(value: object, voice: Voice) -> str:
    if isinstance(value, (bool, int, float, str)):
        shown = voice.value(value)
    elif value is None:
        shown = "-"
    elif isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        shown = voice.say("comma").join(str(one) for one in value)
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return shown[:_MAX_VALUE_CHARS]
