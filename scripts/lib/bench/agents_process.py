"""Agents of one process on a shared brain; each tells its person's memory, and counts.

Arguments: address of the database, number of the first agent and of the one after the last, rounds,
number of all agents. Prints one line of JSON at the end. With `--mortal` it is one agent that
stores until it is killed, and prints each stored key.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

from agent.config import Secret
from agent.errors import MemoryUnavailable
from agent.memory.base import MemoryEntry, Scope
from agent.memory.postgres.memory import PostgresMemory
from agent.messages import Provenance
from agent.system.clock import SystemClock
from tests.fakes.embedders import LetterEmbedder

# Two devices of one person tell the same memory
AGENTS_PER_PERSON = 2
# Every third fact is forgotten again
FORGET_EVERY = 3
# What all of them write, one after the other
SHARE_EVERY = 5
SHARED_KEY = "the last word"
_PLACES = ("cellar", "kitchen", "garage", "attic", "garden", "hall", "office", "barn")
_FOUND = 5


def person_of(agent: int) -> Scope:
    return Scope(f"person{agent // AGENTS_PER_PERSON}")


def secret_of(agent: int, number: int) -> str:
    """Return a word that nobody else says."""
    return f"zq{agent}x{number}"


def key_of(agent: int, number: int) -> str:
    return f"a{agent}-{number}"


@dataclass(slots=True)
class Counts:
    """Deeds of the agents of a process, and what went wrong."""

    kept: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    calls: int = 0
    leaks: int = 0
    missed: int = 0
    errors: list[str] = field(default_factory=list)
    recalls_s: list[float] = field(default_factory=list)
    slowest_s: float = 0.0


class CrowdAgent:
    """One agent with a connection of its own."""

    def __init__(self, url: Secret, number: int, counts: Counts) -> None:
        self._memory = PostgresMemory(url, LetterEmbedder(), SystemClock())
        self._number = number
        self._scope = person_of(number)
        self._counts = counts

    async def live(self, rounds: int, agents: int) -> None:
        for number in range(rounds):
            try:
                await self._tell(number)
                await self._ask(number)
                await self._ask_for_anothers((self._number + agents // 2) % agents, number)
                await self._contradict(number)
                await self._forget(number)
            except MemoryUnavailable as err:
                self._counts.errors.append(str(err))
        await self._memory.aclose()

    async def _tell(self, number: int) -> None:
        key = key_of(self._number, number)
        content = f"the parcel {secret_of(self._number, number)} came on day {number}"
        with _Timed(self._counts):
            await self._memory.store(key, content, scope=self._scope, provenance=Provenance.OWNER)
        self._counts.kept.append(key)
        if number % SHARE_EVERY:
            return
        with _Timed(self._counts):
            await self._memory.store(SHARED_KEY, f"{key} was here", provenance=Provenance.OWNER)

    async def _ask(self, number: int) -> None:
        with _Timed(self._counts) as timed:
            found = await self._memory.recall(
                f"when did the parcel {secret_of(self._number, number)} come?", _FOUND, self._scope
            )
        self._counts.recalls_s.append(timed.taken_s)
        self._look(found)
        keys = [entry.key for entry in found]
        self._counts.missed += key_of(self._number, number) not in keys

    async def _ask_for_anothers(self, other: int, number: int) -> None:
        with _Timed(self._counts):
            found = await self._memory.recall(secret_of(other, number), _FOUND, self._scope)
        self._look(found)

    def _look(self, found: Sequence[MemoryEntry]) -> None:
        owners = set(self._scope.owners)
        self._counts.leaks += sum(entry.scope.owner not in owners for entry in found)

    async def _contradict(self, number: int) -> None:
        place = _PLACES[(number * 3 + self._number) % len(_PLACES)]
        with _Timed(self._counts):
            entry = await self._memory.store(
                "", f"the spare key is in the {place}", scope=self._scope,
                provenance=Provenance.OWNER,
            )  # fmt: skip
        with _Timed(self._counts):
            await self._memory.settle(entry)

    async def _forget(self, number: int) -> None:
        if number % FORGET_EVERY:
            return
        key = key_of(self._number, number)
        with _Timed(self._counts):
            await self._memory.forget(key, self._scope)
        self._counts.kept.remove(key)
        self._counts.forgotten.append(key)


class _Timed:
    """Time of one call."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.taken_s = 0.0

    def __enter__(self) -> Self:
        self._began_s = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.taken_s = time.perf_counter() - self._began_s
        self._counts.calls += 1
        self._counts.slowest_s = max(self._counts.slowest_s, self.taken_s)


async def _live(url: Secret, first: int, after: int, rounds: int, agents: int) -> Counts:
    counts = Counts()
    async with asyncio.TaskGroup() as tasks:
        for number in range(first, after):
            tasks.create_task(CrowdAgent(url, number, counts).live(rounds, agents))
    return counts


async def _live_until_killed(url: Secret, name: str) -> None:
    memory = PostgresMemory(url, LetterEmbedder(), SystemClock())
    number = 0
    while True:
        number += 1
        key = f"{name}-{number}"
        # Of a person that others tell too
        await memory.store(key, f"{key} is what a dying agent said", scope=person_of(0))
        print(key, flush=True)


def main(arguments: Sequence[str]) -> int:
    url = Secret(arguments[0])
    if arguments[1] == "--mortal":
        asyncio.run(_live_until_killed(url, arguments[2]))
    first, after, rounds, agents = map(int, arguments[1:])
    counts = asyncio.run(_live(url, first, after, rounds, agents))
    print(json.dumps(asdict(counts)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
