"""Count of forgotten memories that return, and of told ones that get lost, under kills and losses.

A process tells, forgets and takes snapshots, says each step that is acknowledged, and is killed at
a random moment. Every third time its database is lost as well: `brain.db` is deleted, that of a
server is replaced by an older copy.
"""

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.memory.base import Scope
from agent.memory.transfer import take_snapshot
from scripts.lib.bench.brains import KINDS, SQLITE, BenchBrain, brains
from scripts.lib.forgotten_homes import LocalHome, MemoryHome, SharedHome, opened
from tests.fakes.postgres import PostgresServer

OWNER = Scope("owner")
_LIB = Path(__file__).parent
# Up to the 20th step or so of a run: notes, commits, checkpoints and snapshots are all met
LONGEST_RUN_S = 0.05
STEPS_PER_SNAPSHOT = 4
_LOSS_EVERY = 3
_BEGINS, _TOLD, _FORGOT = "begins", "told", "forgot"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/lib forgotten", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--brain", choices=KINDS, default=SQLITE)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.store:
        asyncio.run(live(chosen.store, chosen.url, chosen.seed))
    with brains(chosen.brain) as found:
        return max([_counted(chosen.kills, chosen.seed, brain) for brain in found], default=0)


def _counted(kills: int, seed: int, brain: BenchBrain) -> int:
    begun_s = time.monotonic()
    found = kill(kills, seed, brain.server)
    taken_s = time.monotonic() - begun_s
    print(f"{kills} kills in {taken_s:.0f} s{brain.suffix}: {found.text()}")
    return 0 if found.is_none else 1


async def live(store: Path, url: str | None, seed: int) -> None:
    """Tell, forget and take snapshots until killed; say each step before and after it."""
    chance = random.Random(seed)  # noqa: S311 - an order of steps, not secrets
    memory = opened(store, url)
    step = 0
    while True:
        known = [entry.key for entry in await memory.list(OWNER, limit=10_000)]
        if known and chance.random() < 0.4:  # noqa: PLR2004 - two of five steps forget
            key = chance.choice(known)
            print(f"{_BEGINS} {key}", flush=True)
            await memory.forget(key, OWNER)
            print(f"{_FORGOT} {key}", flush=True)
        else:
            key = f"k{seed}-{step}"
            await memory.store(key, f"fact {key}", scope=OWNER)
            print(f"{_TOLD} {key}", flush=True)
        step += 1
        if url is None and step % STEPS_PER_SNAPSHOT == 0:
            await take_snapshot(memory, store.parent)


@dataclass(slots=True)
class Returns:
    """Memories that were told and forgotten, and what went wrong with them."""

    told: set[str] = field(default_factory=set)
    # Begun, so that they may be gone
    begun: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    losses: int = 0
    lost: int = 0
    returned: int = 0

    @property
    def is_none(self) -> bool:
        return not self.lost and not self.returned

    def text(self) -> str:
        return (
            f"{len(self.forgotten)} forgets acknowledged, {self.losses} databases lost:"
            f" {self.returned} returned, {self.lost} of those that stay were lost"
        )

    def take(self, line: str) -> None:
        """Note a step that the process has said."""
        kind, _, key = line.partition(" ")
        if kind == _TOLD:
            self.told.add(key)
        elif kind == _BEGINS:
            self.begun.add(key)
        elif kind == _FORGOT:
            self.forgotten.add(key)


def kill(kills: int, seed: int = 0, server: PostgresServer | None = None) -> Returns:
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    found = Returns()
    with tempfile.TemporaryDirectory() as folder:
        home = LocalHome(Path(folder)) if server is None else SharedHome(server, Path(folder))
        for number in range(kills):
            if number % _LOSS_EVERY == 1:
                home.copy()
            for line in _killed(home, number, chance.uniform(0, LONGEST_RUN_S)):
                found.take(line)
            expected = found.told - found.begun
            if number % _LOSS_EVERY == 0 and (came_back := home.lose()) is not None:
                # What nothing else has is lost with its database
                expected &= came_back
                found.told &= expected | found.begun
                found.losses += 1
            kept = asyncio.run(_kept(home))
            found.lost += len(expected - kept)
            found.returned += len(found.forgotten & kept)
    return found


def _killed(home: MemoryHome, seed: int, after_s: float) -> list[str]:
    """Return the steps that one run said before it was killed."""
    command = [sys.executable, str(_LIB), "forgotten", *home.arguments(), "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        # What was cut has no end
        return [first.strip(), *process.stdout.read().rpartition("\n")[0].split("\n")]


async def _kept(home: MemoryHome) -> set[str]:
    store, *url = home.arguments()[1::2]
    memory = opened(Path(store), url[0] if url else None)
    kept = {entry.key async for entry in memory.entries()}
    await memory.aclose()
    return kept
