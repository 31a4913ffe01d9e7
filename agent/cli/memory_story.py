"""`barnacle memory show | timeline`: the story of one memory, and of a thing."""

from argparse import Namespace
from collections.abc import Sequence

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, named, place_of, settle_person
from agent.cli.output import say, say_json, say_table
from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, Catalogued, Chronicled, Memory, MemoryEntry, Scope


async def run(arguments: Namespace) -> int:
    place = place_of(arguments)
    async with looked_into(place) as memory:
        await settle_person(arguments, place, memory)
        if arguments.action == "timeline":
            await _timeline(arguments, memory)
        else:
            await _show(arguments, memory)
    return exits.OK


async def _timeline(arguments: Namespace, memory: Memory) -> None:
    if not isinstance(memory, Catalogued):
        raise MemoryUnavailable(f"the {memory.name} backend has no timeline: use a search")
    found = await memory.about(arguments.thing, Scope(arguments.person))
    if arguments.json:
        say_json([memory_text.as_json(entry) for entry in found])
    elif found:
        memory_text.say_rows([memory_text.story_row(entry) for entry in found])
    else:
        say(f"{arguments.whose} has said nothing about {arguments.thing}")


async def _show(arguments: Namespace, memory: Memory) -> None:
    found = await named(memory, arguments.key, Scope(arguments.person))
    if found is None:
        raise memory_text.no_such(arguments.key, arguments.whose)
    former = await memory.former(found) if isinstance(memory, Chronicled) else []
    words = await _words(memory, found)
    if arguments.json:
        told = {
            "before": [memory_text.as_json(entry) for entry in former],
            "in_words": [entry.content for entry in words],
        }
        say_json(memory_text.as_json(found) | told)
        return
    say_table(memory_text.fields(found))
    say()
    say(found.content)
    _say_part("in the words of", words)
    _say_part("before", former)


async def _words(memory: Memory, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return the messages that a fact was drawn from."""
    if entry.category == CONVERSATION or not isinstance(memory, Catalogued):
        return []
    kin = await memory.doomed(entry.key, entry.scope)
    return [
        one for one in kin if one.category == CONVERSATION and one.scope.owner == entry.scope.owner
    ]


def _say_part(heading: str, entries: Sequence[MemoryEntry]) -> None:
    if entries:
        say()
        say(f"{heading}:")
        memory_text.say_rows([memory_text.story_row(entry) for entry in entries])
