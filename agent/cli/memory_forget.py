"""`barnacle memory forget`: by key, thing, topic, source and time; or only a look at it."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, named, place_of, settle_person
from agent.cli.output import agreed, clean, say
from agent.errors import MemoryUnavailable
from agent.memory.base import Catalogued, Chronicled, Curated, Memory, MemoryEntry, Scope

# As many as a person may have said of one topic
_MOST_FOUND = 500
# Old conversations, and databases that were damaged or made by a later version
_OLDER = ("archive", "brain.db.corrupt.*", "brain.db.later.*")
_FILTERS = ("source", "about", "topic", "since", "until", "everything")


async def run(arguments: Namespace) -> int:
    given = [name for name in _FILTERS if getattr(arguments, name)]
    if bool(arguments.keys) == bool(given):
        raise MemoryUnavailable(
            "name the memories: either their keys, or --about, --topic, --source, --since, "
            "--until or --everything"
        )
    place = place_of(arguments, searches=bool(arguments.topic))
    async with looked_into(place) as memory:
        await settle_person(arguments, place, memory)
        if arguments.dry_run:
            return await _look(arguments, memory, place.settings.min_score)
        before = await memory.count()
        status = await _forget(arguments, memory, place.settings.min_score)
        is_less = await memory.count() < before
    left = _left(place.folder)
    if is_less and left:
        memory_text.note(f"the words may still be in {', '.join(left)}")
    return status


async def _forget(arguments: Namespace, memory: Memory, min_score: float) -> int:
    if arguments.keys:
        return await _forget_keys(arguments, memory)
    if _named(arguments) == ["source"] and isinstance(memory, Curated):
        return await _forget_source(arguments, memory)
    return await _forget_found(arguments, memory, min_score)


def _left(folder: Path) -> list[str]:
    """Return what nobody erases a word from."""
    return [str(path) for kind in _OLDER for path in sorted(folder.glob(kind))]


async def _look(arguments: Namespace, memory: Memory, min_score: float) -> int:
    chosen = await _chosen(arguments, memory, min_score)
    doomed = await _doomed(arguments, memory, chosen)
    if doomed:
        memory_text.say_rows([memory_text.row(entry, whose=True) for entry in doomed])
    say(f"{len(doomed)} memories would be forgotten; none is")
    return exits.OK


async def _forget_keys(arguments: Namespace, memory: Memory) -> int:
    status = exits.OK
    for entry in await _of_keys(arguments, memory):
        key = clean(entry.key)
        if not await _is_there(memory, entry):
            say(f"{key} went with it")
        elif not agreed(arguments, f"forget {key}: {clean(entry.content)}"):
            say(f"{key} kept")
        elif await memory.forget(entry.key, entry.scope):
            say(f"{key} forgotten")
        else:
            memory_text.note(f"{key} kept: the {memory.name} backend cannot delete")
            status = exits.FAILED
    return status


async def _is_there(memory: Memory, entry: MemoryEntry) -> bool:
    """Return false for a memory that went with one before it."""
    held = await named(memory, entry.key, entry.scope)
    return held is not None and held.scope.owner == entry.scope.owner


async def _forget_source(arguments: Namespace, memory: Curated) -> int:
    if not agreed(arguments, f"forget everything that came from {clean(arguments.source)}"):
        say("all memories kept")
        return exits.OK
    gone = await memory.forget_source(arguments.source, Scope(arguments.person))
    say(f"forgot {gone} memories from {arguments.source}")
    return exits.OK


async def _forget_found(arguments: Namespace, memory: Memory, min_score: float) -> int:
    chosen = await _chosen(arguments, memory, min_score)
    doomed = await _doomed(arguments, memory, chosen)
    if not doomed:
        say(f"no matching memories of {arguments.whose}")
        return exits.OK
    if not arguments.yes:
        memory_text.say_rows([memory_text.row(entry, whose=True) for entry in doomed])
    if not agreed(arguments, f"forget these {len(doomed)} memories"):
        say("all memories kept")
        return exits.OK
    # What is no longer so first: forgetting what closed it would bring it back
    ordered = sorted(chosen, key=lambda entry: entry.superseded_by is None)
    if not sum([await memory.forget(entry.key, entry.scope) for entry in ordered]):
        memory_text.note(f"nothing is forgotten: the {memory.name} backend cannot delete")
        return exits.FAILED
    say(f"forgot {len(doomed)} memories")
    return exits.OK


async def _chosen(arguments: Namespace, memory: Memory, min_score: float) -> list[MemoryEntry]:
    """Return what is named itself, hidden or not."""
    if arguments.keys:
        return await _of_keys(arguments, memory)
    owner = Scope(arguments.person).owner
    found = await _candidates(arguments, memory, min_score)
    return [one for one in found if one.scope.owner == owner and _fits(one, arguments)]


async def _of_keys(arguments: Namespace, memory: Memory) -> list[MemoryEntry]:
    scope = Scope(arguments.person)
    found: list[MemoryEntry] = []
    for key in arguments.keys:
        entry = await named(memory, key, scope)
        if entry is None or entry.scope.owner != scope.owner:
            raise memory_text.no_such(key, arguments.whose)
        found.append(entry)
    return found


async def _candidates(arguments: Namespace, memory: Memory, min_score: float) -> list[MemoryEntry]:
    scope = Scope(arguments.person)
    if arguments.about:
        if not isinstance(memory, Catalogued):
            raise MemoryUnavailable(f"the {memory.name} backend knows no things: use --topic")
        return await memory.about(arguments.about, scope)
    if not arguments.topic:
        return [entry async for entry in memory.entries()]
    found = await memory.recall(arguments.topic, _MOST_FOUND, scope)
    found = [one for one in found if (one.score or 0.0) >= min_score]
    if isinstance(memory, Chronicled):
        closed = [await memory.former(one) for one in found]
        found += [one for ones in closed for one in ones]
    return found


def _fits(entry: MemoryEntry, arguments: Namespace) -> bool:
    said = memory_text.day_of(entry.created_at_s)
    is_then = (arguments.since or said) <= said <= (arguments.until or said)
    if said == memory_text.NO_DAY and (arguments.since or arguments.until):
        return False
    return is_then and arguments.source in {None, entry.source}


async def _doomed(
    arguments: Namespace, memory: Memory, chosen: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Return these and what is forgotten with them."""
    every = {entry.memory_id: entry for entry in chosen}
    goes_further = arguments.keys or arguments.source is None or len(_named(arguments)) > 1
    if isinstance(memory, Catalogued) and goes_further:
        for entry in chosen:
            for other in await memory.doomed(entry.key, entry.scope):
                every.setdefault(other.memory_id, other)
    return sorted(every.values(), key=lambda entry: (entry.created_at_s, entry.memory_id))


def _named(arguments: Namespace) -> list[str]:
    return [name for name in _FILTERS if getattr(arguments, name)]
