"""Words of the conflicts between orders and reflexes, in a person's language."""

from collections.abc import Iterator, Sequence

from agent.link.manifest import Manifest
from agent.link.readings import readings
from agent.link.reflexes import ReflexRule, raw_in_words
from agent.readings.rehearsal import Conflict, ConflictKind, ConflictReading
from agent.tools.order_trial import choice_in_words
from agent.tools.rehearsal_words import RehearsalVoice

_MOST_CONFLICTS = 3


def conflicts_in_words(
    manifest: Manifest,
    rules: Sequence[ReflexRule],
    found: Sequence[Conflict],
    voice: RehearsalVoice,
) -> Iterator[str]:
    """Yield a sentence for each of the first conflicts, and how many more there are."""
    for one in found[:_MOST_CONFLICTS]:
        rule = next((rules[at] for at in one.rules if at < len(rules)), None)
        yield _conflict_in_words(manifest, one, rule, voice)
    if len(found) > _MOST_CONFLICTS:
        yield voice.say("more_conflicts", count=str(len(found) - _MOST_CONFLICTS))


def _conflict_in_words(
    manifest: Manifest, one: Conflict, rule: ReflexRule | None, voice: RehearsalVoice
) -> str:
    pins = {pin.index: pin for pin in manifest.pins}
    output, *others = (pins[at] for at in one.outputs)
    thing = voice.thing(output.name)
    state = ", ".join(_state_in_words(manifest, reading) for reading in one.state)
    name = rule.name if rule is not None else ""
    if one.kind is ConflictKind.OPPOSED and rule is not None:
        value = voice.value(rule.value, thing)
        return voice.say("opposed", thing=thing, state=state, name=name, value=value)
    needed = others[0].name
    need = voice.thing(needed)
    wanted = choice_in_words(manifest, needed, dict(output.needs)[needed])
    slots = {"thing": thing, "need": need, "value": voice.value(wanted, need)}
    if one.kind is ConflictKind.MISSING:
        return voice.say("missing", **slots)
    return voice.say("together", state=state, name=name, **slots)


def _state_in_words(manifest: Manifest, state: ConflictReading) -> str:
    """Return a reading with its value, and the values before it, with no words of a language."""
    known = readings(manifest)
    reading = next(one for one in known if (one.index, one.part) == (state.index, state.part))
    values = [raw_in_words(reading.field, value) for value in (*state.path, state.value)]
    return f"{reading.name.replace('.', ' ')} {' → '.join(values)}"
