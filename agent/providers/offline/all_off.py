"""Everything off: each output at its rest, and what came of it, from what was read back."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.messages import Effect
from agent.providers.offline.conversation import Exchange, table_of
from agent.providers.offline.names import PLACE
from agent.providers.offline.past_calls import FAILURE
from agent.providers.offline.plan import Order
from agent.providers.offline.slots import level_parameter
from agent.providers.offline.toolbox import Choice, Profile, Toolbox
from agent.providers.offline.voice import Voice

_MOVES = frozenset({Effect.ACTUATE, Effect.HAZARD})
_RELEASES = re.compile(r"(-?\d{1,6}) releases\b")
_COLOURS = frozenset({"red", "green", "blue", "first", "count"})
_MAX_REASON_CHARS = 120


def all_at_rest(box: Toolbox, senses: frozenset[str] = frozenset()) -> tuple[Order, ...]:
    """Return the calls that bring every output to rest, or those of one place."""
    places = frozenset(sense for sense in senses if sense.startswith(PLACE))
    return tuple(
        Order(profile.name, {profile.device.name: choice.value, **rest})
        for profile in box.speakable
        if profile.device is not None and profile.spec.effect in _MOVES
        for choice in profile.device.choices
        if not places or places & {f"{PLACE}{place}" for place in choice.facts.places}
        if (rest := rest_of(profile, choice)) is not None
    )


def rest_of(profile: Profile, choice: Choice) -> Mapping[str, Any] | None:
    """Return the arguments that bring one thing to rest; None if a tool cannot."""
    switch, level = profile.switch, level_parameter(profile)
    if switch is not None:
        rest = {"on": {"on", "open"}, "off": {"off", "closed"}}[choice.facts.safe]
        values = [one.value for one in switch.choices if one.text in rest]
        return {switch.name: values[0]} if values else None
    if level is not None:
        end = level.maximum if choice.facts.safe == "on" else level.minimum
        return {**_kept(profile), level.name: _whole(end or 0.0)}
    names = {one.name for one in profile.parameters}
    if names >= _COLOURS:
        most = next(one.maximum for one in profile.parameters if one.name == "count")
        return {**dict.fromkeys(("first", "red", "green", "blue"), 0), "count": _whole(most or 1)}
    released = _RELEASES.search(profile.spec.description)
    numbers = [one for one in profile.parameters if one.kind in {"number", "integer"}]
    if released and len(numbers) == 1:
        return {numbers[0].name: int(released[1])}
    return None


def told_at_rest(exchanges: Sequence[Exchange], box: Toolbox, voice: Voice) -> str:
    """Tell which outputs are at rest now, and why the others are not."""
    resting: list[str] = []
    moving: list[str] = []
    for exchange in exchanges:
        profile = box.find(exchange.order.tool)
        device = profile.device if profile is not None else None
        if profile is None or device is None:
            continue
        value = exchange.order.arguments.get(device.name)
        choice = next((one for one in device.choices if one.value == value), None)
        if choice is None:
            continue
        thing = voice.thing(choice.shown)
        trouble = _trouble(exchange, profile, choice, voice)
        if trouble:
            moving.append(f"{thing} ({trouble})")
        elif thing not in resting:
            resting.append(thing)
    kept = [thing for thing in resting if not any(one.startswith(f"{thing} (") for one in moving)]
    said = [voice.say("all_off", things=voice.listing(kept, "and"))] if kept else []
    if moving:
        said.append(voice.say("still_on", things=voice.listing(moving, "and")))
    return voice.joined(said)


def _trouble(exchange: Exchange, profile: Profile, choice: Choice, voice: Voice) -> str:
    """Return why an output is not off: it failed, has another value, or rests on."""
    if exchange.result.startswith(FAILURE):
        words = exchange.result.removeprefix(FAILURE)
        words = str(table_of(words).get("message", words))
        return voice.reason(words)[:_MAX_REASON_CHARS]
    result = table_of(exchange.result)
    for name, wanted in (rest_of(profile, choice) or {}).items():
        if name in result and result[name] != wanted:
            return voice.value(result[name])
    return voice.say("rests_on") if choice.facts.safe == "on" else ""


def _kept(profile: Profile) -> dict[str, Any]:
    return {one.name: one.kept_by for one in profile.parameters if one.kept_by is not None}


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
