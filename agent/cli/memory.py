"""`barnacle memory`: what the agent remembers of a person, read from its store."""

import asyncio
import os
from argparse import Namespace
from collections.abc import Sequence

from agent.cli import exits, memory_text, surroundings
from agent.cli.embedder import embedder_of
from agent.cli.output import json_text, say, say_json, say_table
from agent.clock import SystemClock
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Memory, MemoryEntry, Scope
from agent.memory.sqlite import SqliteMemory
from agent.settings import Paths, Settings, expanded
from agent.storage.files import write_atomic


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    entries = asyncio.run(_entries(arguments, settings, paths))
    if arguments.action == "export":
        _export(arguments, entries)
    elif arguments.json:
        say_json([memory_text.as_json(entry) for entry in entries])
    elif entries:
        say_table([memory_text.row(entry) for entry in entries])
    else:
        say(f"nothing is remembered of {arguments.person} that fits")
    return exits.OK


async def _entries(arguments: Namespace, settings: Settings, paths: Paths) -> list[MemoryEntry]:
    if not paths.brain_db.exists():
        # Looking makes no database
        return []
    # Only a search needs the model; the others do not wait for it
    searches = arguments.action == "search"
    embedder = embedder_of(settings, paths, os.environ) if searches else NoEmbedder()
    memory = SqliteMemory(paths.brain_db, embedder, SystemClock())
    try:
        return await _chosen(memory, arguments)
    finally:
        await memory.aclose()
        await embedder.aclose()


async def _chosen(memory: Memory, arguments: Namespace) -> list[MemoryEntry]:
    scope = Scope(arguments.person)
    match arguments.action:
        case "search":
            return await memory.recall(arguments.query, arguments.limit, scope)
        case "list":
            return await memory.list(scope, arguments.category, arguments.limit)
        case _:
            return await memory.list(scope, limit=max(1, await memory.count(scope)))


def _export(arguments: Namespace, entries: Sequence[MemoryEntry]) -> None:
    if arguments.json:
        document = json_text([memory_text.as_json(entry) for entry in entries])
    else:
        document = memory_text.markdown(arguments.person, entries)
    if not arguments.output:
        print(document)
        return
    path = expanded(arguments.output, os.environ)
    write_atomic(path, f"{document}\n".encode())
    say(f"{len(entries)} memories are in {path}")
