"""`barnacle phrases list | forget`: sentences that a model taught, for when there is none."""

import json
import time
from argparse import Namespace
from collections.abc import Sequence

from agent.access.people import OWNER_ID
from agent.app.access import AccessControl
from agent.cli import configuration, exits
from agent.cli.file_ownership import hand_over
from agent.cli.output import clean, say, say_json, say_table
from agent.errors import BadArguments
from agent.settings import Paths
from agent.storage.phrases import Phrase, PhraseCall, Phrases, PhraseState, phrase_key
from agent.system.clock import SystemClock

_FILES = ("phrases.json", "phrases.json.lock")
_STATES = {PhraseState.HEARD: "asks first", PhraseState.KNOWN: "known"}


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    phrases = Phrases(paths.phrases, SystemClock())
    if arguments.action == "list":
        return _list(arguments, phrases, paths)
    _forget(arguments, phrases, paths)
    hand_over(paths.state_dir, _FILES)
    return exits.OK


def _list(arguments: Namespace, phrases: Phrases, paths: Paths) -> int:
    if arguments.person is None:
        shown = sorted(phrases.every(), key=lambda one: (one.person, -one.used_s))
    else:
        shown = list(phrases.of(_person(arguments.person, phrases, paths)))
    if arguments.json:
        say_json([_row(one) for one in shown])
    elif not shown:
        say("no phrases yet: the agent learns them when a model acts on what somebody says")
    else:
        say_table([_cells(one) for one in shown])
    return exits.OK


def _forget(arguments: Namespace, phrases: Phrases, paths: Paths) -> None:
    person = _person(arguments.person or OWNER_ID, phrases, paths)
    if arguments.all == bool(arguments.sentence):
        raise BadArguments("name a sentence as `barnacle phrases list` shows it, or --all")
    if arguments.all:
        say(f"forgot {phrases.forget_person(person)} phrases of {person}")
        return
    phrase = phrases.find(person, arguments.sentence)
    if phrase is None:
        raise BadArguments(_no_such(arguments.sentence, person, phrases.of(person)))
    phrases.forget(phrase)
    say(f'forgot "{phrase.text}"')


def _person(name: str, phrases: Phrases, paths: Paths) -> str:
    """Return a person's id by name, or the id itself if it has phrases."""
    if name == OWNER_ID or any(one.person == name for one in phrases.every()):
        return name
    return AccessControl(paths, SystemClock()).people.named(name).person_id


def _no_such(sentence: str, person: str, known: Sequence[Phrase]) -> str:
    listed = ", ".join(f'"{clean(one.text)}"' for one in known) or "no phrase"
    return f'"{phrase_key(sentence)}" is no phrase of {person}; known: {listed}'


def _cells(phrase: Phrase) -> tuple[str, ...]:
    used = time.strftime("%Y-%m-%d", time.localtime(phrase.used_s))
    meant = "; ".join(map(_in_words, phrase.calls))
    return phrase.person, f'"{phrase.text}"', meant, _STATES[phrase.state], f"used {used}"


def _in_words(call: PhraseCall) -> str:
    name = call.tool.replace("_", " ")
    try:
        values = json.loads(call.arguments_json)
        given = ", ".join(f"{name} {value}" for name, value in values.items())
    except (ValueError, AttributeError):
        # A hand has been at the file
        given = call.arguments_json
    return f"{name} ({given})" if given else name


def _row(phrase: Phrase) -> dict[str, object]:
    return {
        "person": phrase.person,
        "text": phrase.text,
        "calls": [{"tool": one.tool, "arguments": one.arguments_json} for one in phrase.calls],
        "state": phrase.state.value,
        "used_s": phrase.used_s,
    }
