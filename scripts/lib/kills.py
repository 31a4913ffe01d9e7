"""Count of acknowledged memories that a store loses when it is killed again and again.

The store runs in a process of its own, which says each memory that `store` has returned, takes
snapshots in between and is killed at a random moment. With --power each kill is a power cut: the
disk forgets what the kernel had not written yet.
"""

import argparse
import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.generations import Generations
from agent.memory.sqlite import SqliteMemory
from agent.memory.transfer import take_snapshot
from agent.storage.database import was_set_aside
from agent.system.clock import SystemClock
from scripts.lib.bench.block_devices import LoopDisk, cut_disk, keep_mounts_apart, missing

OWNER = Scope("owner")
_LIB = Path(__file__).parent
# Up to the 20th store or so of a run: commits, checkpoints and snapshots are all met
LONGEST_RUN_S = 0.05
STORES_PER_SNAPSHOT = 5


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/kill-memory", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--power", action="store_true", help="cut the power each time; needs root")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.power and (reason := missing()):
        parser.error(f"--power: {reason}")
    if chosen.power:
        keep_mounts_apart()
    if chosen.store:
        asyncio.run(store(chosen.store))
    begun_s = time.monotonic()
    found = kill(chosen.kills, chosen.seed, has_power_cuts=chosen.power)
    print(f"{chosen.kills} kills in {time.monotonic() - begun_s:.0f} s: {found.text()}")
    return 0 if found.is_none else 1


async def store(path: Path) -> None:
    """Store and say so until killed."""
    memory = SqliteMemory(path, NoEmbedder(), SystemClock())
    number = await memory.count()
    while True:
        await memory.store(f"k{number}", f"fact number {number}", scope=OWNER)
        print(number, flush=True)
        number += 1
        if number % STORES_PER_SNAPSHOT == 0:
            await take_snapshot(memory, path.parent)


@dataclass(frozen=True, slots=True)
class Losses:
    """Memories acknowledged, lost and damaged."""

    acknowledged: int
    lost: int
    corrupt: int

    @property
    def is_none(self) -> bool:
        return not self.lost and not self.corrupt

    def text(self) -> str:
        return (
            f"{self.acknowledged} memories acknowledged, {self.lost} lost,"
            f" {self.corrupt} starts with a damaged database or snapshot"
        )


def kill(kills: int, seed: int = 0, *, has_power_cuts: bool = False) -> Losses:
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        disk = stack.enter_context(cut_disk(Path(folder))) if has_power_cuts else None
        path = (disk.root if disk else Path(folder)) / "brain.db"
        lost = corrupt = 0
        acknowledged: set[str] = set()
        for _ in range(kills):
            acknowledged |= _killed(path, chance.uniform(0, LONGEST_RUN_S), disk)
            kept, is_sound = asyncio.run(_kept(path))
            lost += len(acknowledged - kept)
            corrupt += not is_sound
    return Losses(len(acknowledged), lost, corrupt)


def _killed(path: Path, after_s: float, disk: LoopDisk | None) -> set[str]:
    """Return the memories that one run acknowledged before it was killed."""
    command = [sys.executable, str(_LIB), "kills", "--store", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after_s)
        if disk is not None:
            disk.cut()
        process.send_signal(signal.SIGKILL)
        # What was cut has no end
        rest = process.stdout.read().rpartition("\n")[0].split()
    if disk is not None:
        disk.come_back()
    return {f"k{number}" for number in [first.strip(), *rest]}


async def _kept(path: Path) -> tuple[set[str], bool]:
    memory = SqliteMemory(path, NoEmbedder(), SystemClock())
    kept = {entry.key async for entry in memory.entries()}
    await memory.aclose()
    with closing(sqlite3.connect(path)) as db:
        is_sound = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    is_whole = all(one.is_whole() for one in Generations(path.parent).every())
    return kept, is_sound and is_whole and not was_set_aside(path)
