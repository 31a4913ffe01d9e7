"""Abilities that can be said here, each with a sentence that works.

Made of the tools that are there. Every sentence is read before it is shown, as if somebody had said
it: what would not be understood, or would do something else, is not offered.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from agent.providers.offline.plan import CallStep, Step
from agent.providers.offline.toolbox import Choice, Profile, Toolbox
from agent.providers.offline.voice import Voice

# More lines than this nobody reads
MAX_ABILITIES = 10
# Of so many sentences one should be understood
_TRIED = 8
# A share of the whole range that every output has
_SHARE = 100.0

Read = Callable[[str], Awaitable[Step]]
Fits = Callable[[Profile], bool]


class Ability(Struct, frozen=True):
    """One kind of thing that can be said."""

    line: str
    example: str


class _Kind(Struct, frozen=True):
    """Kind of sentence, and the tools that it must come to."""

    key: str
    fits: Fits


def _switches(profile: Profile) -> bool:
    return profile.acts and profile.device is not None and profile.switch is not None


def _sets_share(profile: Profile) -> bool:
    return profile.acts and any(one.maximum == _SHARE for one in profile.parameters)


def _measures(profile: Profile) -> bool:
    return not profile.acts and not profile.name.endswith("_info")


def _named(*endings: str) -> Fits:
    return lambda profile: profile.name.endswith(endings)


# In the order of what people want most
_KINDS = (
    _Kind("switch", _switches),
    _Kind("level", _sets_share),
    _Kind("all_off", lambda profile: profile.acts),
    _Kind("state", _measures),
    _Kind("measure", _measures),
    _Kind("timer", _named("timer_start")),
    _Kind("watch", _named("watch_add")),
    _Kind("remember", _named("memory_store")),
    _Kind("recall", _named("memory_recall", "memory_list")),
    _Kind("time", _named("time_now")),
    _Kind("documents", _named("datasheet_search")),
    _Kind("system", _named("system_info")),
    _Kind("board", _named("_info")),
    _Kind("files", _named("file_list")),
)


async def abilities(
    box: Toolbox, voice: Voice, read: Read, most: int = MAX_ABILITIES
) -> Sequence[Ability]:
    """Return the abilities that people want most; `read` tells what a sentence would come to."""
    found: list[Ability] = []
    for kind in _KINDS:
        tools = frozenset(one.name for one in box.profiles if kind.fits(one))
        if len(found) == most or not tools:
            continue
        for example in islice(_examples(kind, box, voice), _TRIED):
            step = await read(example)
            if isinstance(step, CallStep) and tools.issuperset(one.tool for one in step.orders):
                found.append(Ability(voice.ability(kind.key), example))
                break
    return found


def examples(box: Toolbox, voice: Voice) -> Iterator[str]:
    """Yield sentences of every kind with every thing, but none that moves all of them."""
    for kind in _KINDS:
        if kind.key != "all_off" and any(kind.fits(one) for one in box.profiles):
            yield from _examples(kind, box, voice)


def _examples(kind: _Kind, box: Toolbox, voice: Voice) -> Iterator[str]:
    for template in voice.examples(kind.key):
        if "{" in template:
            yield from (voice.fill(template, thing=one) for one in _names(kind, box, voice))
        else:
            yield template


def _names(kind: _Kind, box: Toolbox, voice: Voice) -> Iterator[str]:
    """Yield the names of the things of these tools, first those that have a word."""
    switched = box.switched()
    choices = [
        choice
        for profile in box.speakable
        for choice in (profile.device.choices if kind.fits(profile) and profile.device else ())
        # A button is never switched: to ask if it is on says little
        if kind.key != "state" or choice.text in switched
    ]
    named = [name for choice in choices if (name := _word_for(choice, voice))]
    plain = [voice.thing(choice.text) for choice in choices]
    yield from dict.fromkeys((*named, *plain))


def _word_for(choice: Choice, voice: Voice) -> str:
    """Return the owner's name for a choice, else the word of the language."""
    aliases = choice.facts.aliases
    return aliases[0] if aliases else voice.label(choice.text)
