"""Count of forgotten memories that return, and of told ones that get lost, under kills and losses.

A process tells, forgets and takes snapshots, says each step that is acknowledged, and is killed at
a random moment. Every third time its database is lost as well.
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

from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.generations import Generations
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.system.clock import SystemClock

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
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.store:
        asyncio.run(live(chosen.store, chosen.seed))
    begun_s = time.monotonic()
    found = kill(chosen.kills, chosen.seed)
    print(f"{chosen.kills} kills in {time.monotonic() - begun_s:.0f} s: {found.text()}")
    return 0 if found.is_none else 1


async def live(path: Path, seed: int) -> None:
    """Tell, forget and take snapshots until killed; say each step before and after it."""
    chance = random.Random(seed)  # noqa: S311 - an order of steps, not secrets
    memory = SqliteMemory(path, NoEmbedder(), SystemClock())
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
        if step % STEPS_PER_SNAPSHOT == 0:
            await take_snapshot(memory, path.parent)


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


def kill(kills: int, seed: int = 0) -> Returns:
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    found = Returns()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brain.db"
        for number in range(kills):
            for line in _killed(path, number, chance.uniform(0, LONGEST_RUN_S)):
                found.take(line)
            expected = found.told - found.begun
            if number % _LOSS_EVERY == 0:
                # What no snapshot has is lost with its database, as nothing else has it
                expected &= _in_snapshot(path.parent)
                found.told &= expected | found.begun
                found.losses += 1
                for left in path.parent.glob("brain.db*"):
                    left.unlink()
            kept = asyncio.run(_kept(path))
            found.lost += len(expected - kept)
            found.returned += len(found.forgotten & kept)
    return found


def _killed(path: Path, seed: int, after_s: float) -> list[str]:
    """Return the steps that one run said before it was killed."""
    command = [sys.executable, str(_LIB), "forgotten", "--store", str(path), "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        # What was cut has no end
        return [first.strip(), *process.stdout.read().rpartition("\n")[0].split("\n")]


def _in_snapshot(folder: Path) -> set[str]:
    newest = next((one for one in Generations(folder).every() if one.is_whole()), None)
    entries = () if newest is None else newest.entries()
    return {entry.key for entry in entries if entry is not None}


async def _kept(path: Path) -> set[str]:
    memory = SqliteMemory(path, NoEmbedder(), SystemClock())
    kept = {entry.key async for entry in memory.entries()}
    await memory.aclose()
    return kept
