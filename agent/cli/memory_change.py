"""`barnacle memory pin | unpin | import | rebuild | snapshot`: putting memories in order."""

import os
from argparse import Namespace

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, named, opened, place_of, settle_person
from agent.cli.output import agreed, clean, say
from agent.config import expanded
from agent.errors import MemoryUnavailable
from agent.memory.base import Curated, Memory, Scope
from agent.memory.transfer import snapshot_folder, take_snapshot
from agent.messages import Provenance


async def run(arguments: Namespace) -> int:
    place = place_of(arguments)
    if arguments.action == "import":
        async with opened(place) as memory:
            await settle_person(arguments, place, memory)
            return await _import(arguments, memory)
    async with looked_into(place) as memory:
        match arguments.action:
            case "pin" | "unpin":
                await settle_person(arguments, place, memory)
                return await _pin(arguments, memory)
            case "rebuild":
                return await _rebuild(memory)
            case _:
                written = await take_snapshot(memory, snapshot_folder(memory, place.folder))
                say(f"wrote {written.count} memories to {written.path}")
    return exits.OK


async def _pin(arguments: Namespace, memory: Memory) -> int:
    if not isinstance(memory, Curated):
        raise MemoryUnavailable(f"the {memory.name} backend cannot pin memories")
    is_pin = arguments.action == "pin"
    for key in arguments.keys:
        if is_pin:
            await _refuse_closed(arguments, memory, key)
        if not await memory.mark(key, Scope(arguments.person), pinned=is_pin):
            raise memory_text.no_such(key, arguments.whose)
        say(f"{clean(key)} {'is in every prompt now' if is_pin else 'is recalled like others now'}")
    return exits.OK


async def _refuse_closed(arguments: Namespace, memory: Memory, key: str) -> None:
    """Refuse to pin what no prompt shows."""
    closed = await named(memory, key, Scope(arguments.person))
    if closed is not None and closed.superseded_by is not None:
        raise MemoryUnavailable(
            f"{key} is hidden by a newer memory, so that no prompt has it: forget the newer one "
            f"first; `barnacle memory show {key}` tells since when"
        )


async def _import(arguments: Namespace, memory: Memory) -> int:
    from agent.memory.imports import bring_in, count  # noqa: PLC0415  # three formats, for this alone

    path = expanded(arguments.file, os.environ)
    provenance = Provenance[(arguments.provenance or "web").upper()]
    if provenance >= Provenance.USER:
        whose = "yours" if provenance is Provenance.OWNER else "those of a paired person"
        what = (
            f"import {await count(path)} memories of {clean(str(path))} as words that are {whose}"
        )
        if not agreed(arguments, what):
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
