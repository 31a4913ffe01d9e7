"""`barnacle memory migrate`: all memories from one backend to another, whole or told why not."""

import sys
from argparse import Namespace

from agent.cli import exits
from agent.cli.memory_store import place_of
from agent.cli.output import say, say_json
from agent.errors import BadArguments, MemoryUnavailable
from agent.memory.backends import BackendPlace, may_hold_memories, open_backend, where
from agent.memory.former_backend import note
from agent.memory.migration import Migrated, migrate
from agent.storage import lock

# Enough to find what went wrong; the rest are as many
_MAX_NAMED = 5


async def run(arguments: Namespace) -> int:
    source, target = arguments.source, arguments.target
    if source == target:
        raise BadArguments("--from and --to are the same backend")
    if target == "none":
        raise BadArguments("the backend none stores nothing: set memory.backend to none instead")
    place = place_of(arguments)
    if {source, target} == {"sqlite", "lucid"}:
        note(place, target)
        say("sqlite and lucid store memories in the same file: there is nothing to migrate")
        return exits.OK
    if not may_hold_memories(place, source):
        raise MemoryUnavailable(f"no memories in {source} ({where(place, source)})")
    # An agent at work would go on writing into what is being left
    with lock.hold(place.state_dir):
        done = await _migrated(place, arguments)
        if not done.wrong:
            note(place, target)
    _say(arguments, place, done)
    return exits.FAILED if done.wrong else exits.OK


async def _migrated(place: BackendPlace, arguments: Namespace) -> Migrated:
    old = open_backend(place, arguments.source)
    try:
        new = open_backend(place, arguments.target)
        try:
            return await migrate(old, new, _Progress())
        finally:
            await new.aclose()
    finally:
        await old.aclose()


def _say(arguments: Namespace, place: BackendPlace, done: Migrated) -> None:
    if arguments.json:
        say_json(
            {
                "carried": done.carried,
                "already": done.already,
                "newer": done.newer,
                "wrong": list(done.wrong),
            }
        )
        return
    target = arguments.target
    whole = done.total - len(done.wrong)
    say(
        f"{target} now holds {whole} memories of {arguments.source}: {done.carried} "
        f"copied, {done.already} were there, {done.newer} are newer there and stay"
    )
    if done.wrong:
        named = ", ".join(done.wrong[:_MAX_NAMED])
        say(f"{len(done.wrong)} differ from what was written: {named}; run the command again")
        return
    say(f"{arguments.source} ({where(place, arguments.source)}) is unchanged")
    if place.settings.backend != target:
        say(f'to use the new backend, set backend = "{target}" in [memory]')


class _Progress:
    """Says how far it is, and only to a person."""

    def __init__(self) -> None:
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // max(1, total, done)
        if percent != self._told and sys.stderr.isatty():
            self._told = percent
            end = "\n" if done >= total else "\r"
            print(f"{done} of {total} memories ({percent} %)", end=end, file=sys.stderr)
