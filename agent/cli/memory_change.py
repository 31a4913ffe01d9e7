"""`barnacle memory forget | import | rebuild | snapshot`: putting memories in order by hand."""

import os
import sys
from argparse import Namespace

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, opened, place_of
from agent.cli.output import clean, say
from agent.config import expanded
from agent.errors import BarnacleError, MemoryUnavailable
from agent.memory.base import Curated, Memory, Scope
from agent.memory.transfer import snapshot_folder, take_snapshot
from agent.messages import Provenance

_YES = frozenset({"y", "yes"})


async def run(arguments: Namespace) -> int:
    place = place_of(arguments)
    if arguments.action == "import":
        async with opened(place) as memory:
            return await _import(arguments, memory)
    async with looked_into(place) as memory:
        match arguments.action:
            case "forget":
                return await _forget(arguments, memory)
            case "rebuild":
                return await _rebuild(memory)
            case _:
                written = await take_snapshot(memory, snapshot_folder(memory, place.folder))
                say(f"wrote {written.count} memories to {written.path}")
    return exits.OK


async def _forget(arguments: Namespace, memory: Memory) -> int:
    if arguments.source:
        return await _forget_source(arguments, memory)
    if not arguments.keys:
        raise MemoryUnavailable("name the memories: their keys, or --source with a page or file")
    scope = Scope(arguments.person)
    status = exits.OK
    for key in arguments.keys:
        found = await memory.get(key, scope)
        if found is None or found.scope.owner != scope.owner:
            raise memory_text.no_such(key, arguments.person)
        if not _agreed(arguments, f"forget {clean(key)}: {clean(found.content)}"):
            say(f"{key} kept")
        elif await memory.forget(key, scope):
            say(f"{key} forgotten")
        else:
            memory_text.note(f"{key} kept: the {memory.name} backend cannot delete")
            status = exits.FAILED
    return status


async def _forget_source(arguments: Namespace, memory: Memory) -> int:
    if not isinstance(memory, Curated):
        raise MemoryUnavailable(f"the {memory.name} backend cannot forget by source")
    if not _agreed(arguments, f"forget everything that came from {clean(arguments.source)}"):
        say("all memories kept")
        return exits.OK
    gone = await memory.forget_source(arguments.source, Scope(arguments.person))
    say(f"forgot {gone} memories from {arguments.source}")
    return exits.OK


def _agreed(arguments: Namespace, what: str) -> bool:
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        raise BarnacleError(f"{what}? This is no terminal to ask in: add --yes to confirm")
    return input(f"{what}? [y/N] ").strip().lower() in _YES


async def _import(arguments: Namespace, memory: Memory) -> int:
    from agent.memory.imports import bring_in, count  # noqa: PLC0415  # three formats, for this alone

    path = expanded(arguments.file, os.environ)
    provenance = Provenance[(arguments.provenance or "web").upper()]
    if provenance >= Provenance.USER:
        whose = "yours" if provenance is Provenance.OWNER else "those of a paired person"
        what = (
            f"import {await count(path)} memories of {clean(str(path))} as words that are {whose}"
        )
        if not _agreed(arguments, what):
            say("nothing imported")
            return exits.OK
    moved = await bring_in(memory, path, Scope(arguments.person), provenance)
    trusted = provenance.name.lower()
    say(f"imported {moved.moved} memories from {path}; none is trusted more than {trusted}")
    if moved.unreadable:
        memory_text.note(f"{moved.unreadable} entries could not be read")
    return exits.OK


async def _rebuild(memory: Memory) -> int:
    if not isinstance(memory, Curated):
        say(f"the {memory.name} backend has nothing to rebuild")
        return exits.OK
    say(f"rebuilt the word index of {await memory.rebuild()} memories; vectors are rebuilt on use")
    return exits.OK
