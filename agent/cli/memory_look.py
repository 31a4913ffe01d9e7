"""`barnacle memory list | search | export | stats`: looking, which changes nothing."""

import os
from argparse import Namespace
from collections.abc import Sequence

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, place_of, settle_person
from agent.cli.output import json_text, say, say_json, say_table
from agent.config import expanded
from agent.errors import MemoryUnavailable
from agent.memory.base import Memory, MemoryEntry, MemoryStats, Scope
from agent.memory.former_backend import left_behind
from agent.messages import Provenance
from agent.storage.files import write_atomic


async def run(arguments: Namespace) -> int:
    place = place_of(arguments, searches=arguments.action == "search")
    async with looked_into(place) as memory:
        if arguments.action != "stats":
            await settle_person(arguments, place, memory)
        match arguments.action:
            case "stats":
                _say_stats(arguments, await memory.stats(), place.settings.backend)
            case "export":
                _export(arguments, await _listed(arguments, memory))
            case _:
                _say_entries(arguments, await _chosen(arguments, memory))
    if advice := left_behind(place):
        memory_text.note(advice)
    return exits.OK


async def _chosen(arguments: Namespace, memory: Memory) -> list[MemoryEntry]:
    if arguments.action == "list":
        return await _listed(arguments, memory)
    # Filters leave out some of what is found
    limit = arguments.limit if _takes_all(arguments) else max(1, await memory.count())
    found = await memory.recall(arguments.query, limit, Scope(arguments.person))
    return [entry for entry in found if _fits(entry, arguments)][: arguments.limit]


async def _listed(arguments: Namespace, memory: Memory) -> list[MemoryEntry]:
    """Newest first."""
    limit = getattr(arguments, "limit", None) or max(1, await memory.count())
    if arguments.everyone:
        every = [entry async for entry in memory.entries() if entry.superseded_by is None]
        every.sort(key=lambda entry: (entry.updated_at_s, entry.memory_id), reverse=True)
    else:
        every = await memory.list(
            Scope(arguments.person),
            arguments.category,
            limit if _takes_all(arguments) else max(1, await memory.count()),
        )
    return [entry for entry in every if _fits(entry, arguments)][:limit]


def _takes_all(arguments: Namespace) -> bool:
    return not arguments.provenance and (arguments.action == "list" or not arguments.category)


def _fits(entry: MemoryEntry, arguments: Namespace) -> bool:
    provenance = arguments.provenance
    return (not arguments.category or entry.category == arguments.category) and (
        not provenance or entry.provenance is Provenance[provenance.upper()]
    )


def _say_entries(arguments: Namespace, entries: Sequence[MemoryEntry]) -> None:
    if arguments.json:
        say_json([memory_text.as_json(entry) for entry in entries])
    elif entries:
        rows = [
            memory_text.row(entry, whose=getattr(arguments, "everyone", False)) for entry in entries
        ]
        memory_text.say_rows(rows)
    else:
        say(f"no matching memories of {arguments.whose}")


def _say_stats(arguments: Namespace, stats: MemoryStats, backend: str) -> None:
    # One that was not made yet is told by the name that it will have
    if arguments.json:
        say_json({**memory_text.stats_json(stats), "backend": backend})
    else:
        say_table([("backend", backend), *memory_text.stats_rows(stats)])


def _export(arguments: Namespace, entries: Sequence[MemoryEntry]) -> None:
    if arguments.json:
        document = json_text([memory_text.as_json(entry) for entry in entries])
    else:
        whose = "everybody" if arguments.everyone else arguments.whose
        document = memory_text.markdown(whose, entries)
    if not arguments.output:
        print(document)
        return
    path = expanded(arguments.output, os.environ)
    try:
        write_atomic(path, f"{document}\n".encode(errors="replace"))
    except UnicodeError as err:
        raise MemoryUnavailable(f"cannot write {path}: {err}") from err
    say(f"wrote {len(entries)} memories to {path}")
