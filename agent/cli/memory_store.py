"""The memory of one command line, opened for as long as it is needed."""

import os
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from agent.access.people import OWNER_ID, PeopleStore
from agent.app.embedder import embedder_of
from agent.cli import configuration
from agent.embeddings.none import NoEmbedder
from agent.errors import BadArguments
from agent.memory.backends import BackendPlace, may_hold_memories, open_backend
from agent.memory.base import Memory, MemoryEntry, Scope
from agent.system.clock import SystemClock


async def named(memory: Memory, key: str, scope: Scope) -> MemoryEntry | None:
    """Return the memory of that key; one that is no longer so has its end."""
    found = await memory.get(key, scope)
    if found is not None and found.scope.owner == scope.owner:
        return found
    every = {entry.memory_id: entry async for entry in memory.entries() if scope.sees(entry.scope)}
    closed = [one for one in every.values() if one.key == key and one.superseded_by is not None]
    mine = next((one for one in closed if one.scope.owner == scope.owner), None)
    hidden = mine or found or next(iter(closed), None)
    later = every.get(hidden.superseded_by or 0) if hidden is not None else None
    return (
        hidden if hidden is None or later is None else replace(hidden, until_s=later.created_at_s)
    )


async def settle_person(arguments: Namespace, place: BackendPlace, memory: Memory) -> None:
    """Replace the named person by their id, whose memories these are; `whose` stays the name.

    Raises:
        BadArguments: nobody is called so, and nothing is remembered of them.
    """
    arguments.whose = arguments.person
    if arguments.person == OWNER_ID:
        return
    people = PeopleStore(place.state_dir / "people.json", place.clock)
    try:
        arguments.person = people.named(arguments.person).person_id
    except BadArguments:
        # Whoever has no access any more is known by the id alone
        known = {entry.scope.person async for entry in memory.entries()}
        if arguments.person not in known:
            raise


def place_of(arguments: Namespace, *, searches: bool = False) -> BackendPlace:
    """Return the place of the memories; only a search needs the model."""
    settings, paths = configuration.load(arguments)
    embedder = embedder_of(settings, paths, os.environ) if searches else NoEmbedder()
    return BackendPlace(settings.memory, paths.state_dir, embedder, SystemClock())


@asynccontextmanager
async def opened(place: BackendPlace) -> AsyncIterator[Memory]:
    memory = open_backend(place)
    try:
        yield memory
    finally:
        await memory.aclose()
        await place.embedder.aclose()


@asynccontextmanager
async def looked_into(place: BackendPlace) -> AsyncIterator[Memory]:
    """As `opened`, but looking makes no store: one that is not there yet has nothing."""
    if may_hold_memories(place, place.settings.backend):
        async with opened(place) as memory:
            yield memory
    else:
        from agent.memory.none import NoMemory  # noqa: PLC0415  # only before there is anything

        try:
            yield NoMemory()
        finally:
            await place.embedder.aclose()
