"""Many agents on one brain in PostgreSQL, in a few processes, while others are killed.

What each acknowledged step says must be so at the end; what a person told is nobody else's. Then
recall from that brain beside `brain.db` with the same memories, by turns.
"""

import asyncio
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from agent.config import Secret
from agent.memory.base import MemoryEntry
from agent.memory.migration import migrate
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.sqlite import SqliteMemory
from agent.system.clock import SystemClock
from scripts.lib.bench.agents_process import Counts, person_of, secret_of
from scripts.lib.bench.agents_seen import Seen
from scripts.lib.bench.brains import BenchBrain
from scripts.lib.bench.table import Row
from tests.fakes.embedders import LetterEmbedder
from tests.fakes.postgres import PostgresServer

MOST_TIMES = 2.0
PROCESSES = 4
# Beside the agents: those that die, psql, and what a server keeps for its own user
SPARE_CONNECTIONS = 10
_LIB = Path(__file__).resolve().parents[1]
_LONGEST_LIFE_S = 0.5
_LOOK_S = 0.2
_QUESTIONS = 200
_FOUND = 5
# A run of all agents on a slow machine
_LIMIT_S = 1800


@dataclass(frozen=True, slots=True)
class Crowd:
    """Size of a crowd."""

    agents: int = 100
    rounds: int = 10
    deaths: int = 20


WHOLE, SMALL = Crowd(), Crowd(8, 4, 3)


def measure(crowd: Crowd, brain: BenchBrain) -> list[Row]:
    """The rows of one kind of server."""
    assert brain.server is not None
    url = Secret(brain.server.fresh_url())
    seen = run(crowd, brain.server, url)
    most = crowd.agents + 1
    ratio, ours_ms, beside_ms, number = asyncio.run(_beside(url, crowd))
    p50_ms = statistics.median(seen.recalls_s) * 1e3
    return [
        Row(
            f"{crowd.agents} agents in {PROCESSES} processes tell, recall, contradict and forget,"
            f" {seen.deaths} more are killed",
            f"nothing wrong, <= {most} connections",
            seen.text(),
            f"{seen.calls:,} calls, {seen.kept:,} kept, {seen.forgotten:,} forgotten; recall among"
            f" all of them {p50_ms:.0f} ms, the slowest call {seen.slowest_s:.1f} s",
            seen.is_clean and seen.connections <= most,
        ),
        Row(
            f"recall p50 from the {number:,} memories of {crowd.agents} agents",
            f"<= {MOST_TIMES:g}x sqlite",
            f"{ratio:.2f}x ({ours_ms:.1f} ms)",
            f"sqlite {beside_ms:.1f} ms",
            ratio <= MOST_TIMES,
        ),
    ]


def run(crowd: Crowd, server: PostgresServer, url: Secret) -> Seen:
    """Let the crowd live, and look at what it left."""
    seen = Seen()
    # The tables are there before anybody begins
    asyncio.run(_counted(url))
    database = url.reveal().rpartition("/")[2].partition("?")[0]
    done = threading.Event()
    watching = threading.Thread(target=_watch, args=(server, database, seen, done))
    watching.start()
    try:
        counts, dead = _lived(crowd, url)
    finally:
        done.set()
        watching.join()
    for one in counts:
        seen.calls += one.calls
        seen.leaked += one.leaks
        seen.missed += one.missed
        seen.errors += one.errors
        seen.recalls_s += one.recalls_s
        seen.slowest_s = max(seen.slowest_s, one.slowest_s)
    seen.deaths = crowd.deaths
    kept = {key for one in counts for key in one.kept} | dead
    forgotten = {key for one in counts for key in one.forgotten}
    seen.judge(kept, forgotten, asyncio.run(_every(url)))
    seen.deadlocks = (server.folder / "log").read_text().count("deadlock detected")
    return seen


def _lived(crowd: Crowd, url: Secret) -> tuple[list[Counts], set[str]]:
    """Run the processes; return what each of them says, and what the killed ones stored."""
    borders = [crowd.agents * place // PROCESSES for place in range(PROCESSES + 1)]
    parts = itertools.pairwise(borders)
    running = [_started(url, *part, crowd.rounds, crowd.agents) for part in parts]
    dead: set[str] = set()
    chance = random.Random(0)  # noqa: S311 - moments, not secrets
    try:
        for number in range(crowd.deaths):
            dead |= _killed(url, f"mortal{number}", chance.uniform(0, _LONGEST_LIFE_S))
        said = [process.communicate(timeout=_LIMIT_S)[0] for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    return [Counts(**json.loads(one)) for one in said], dead


def _killed(url: Secret, name: str, after_s: float) -> set[str]:
    with _started(url, "--mortal", name) as process:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        time.sleep(after_s)
        process.kill()
        # What was cut has no end
        return {first, *process.stdout.read().split("\n")[:-1]}


def _started(url: Secret, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, str(_LIB), "bench.agents_process", url.reveal()]
    return subprocess.Popen([*command, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def _watch(server: PostgresServer, database: str, seen: Seen, done: threading.Event) -> None:
    """Count the connections now and then."""
    while not done.wait(_LOOK_S):
        seen.connections = max(seen.connections, server.connections(database))


async def _counted(url: Secret) -> int:
    memory = PostgresMemory(url, LetterEmbedder(), SystemClock())
    number = await memory.count()
    await memory.aclose()
    return number


async def _every(url: Secret) -> list[MemoryEntry]:
    memory = PostgresMemory(url, LetterEmbedder(), SystemClock())
    found = [entry async for entry in memory.entries()]
    await memory.aclose()
    return found


async def _beside(url: Secret, crowd: Crowd) -> tuple[float, float, float, int]:
    """Return the ratio of the medians, both in ms, and the number of memories."""
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
        local = SqliteMemory(Path(folder) / "brain.db", LetterEmbedder(), SystemClock())
        shared = PostgresMemory(url, LetterEmbedder(), SystemClock())
        await migrate(shared, local, lambda _done, _of: None)
        number = await local.count()
        taken_s: dict[str, list[float]] = {local.name: [], shared.name: []}
        await _embedded(local)
        for question in range(_QUESTIONS):
            agent = question % crowd.agents
            text = f"when did the parcel {secret_of(agent, question % crowd.rounds)} come?"
            # By turns, so that a slow moment of the machine meets both
            for memory in (local, shared):
                began_s = time.perf_counter()
                await memory.recall(text, _FOUND, person_of(agent))
                taken_s[memory.name].append(time.perf_counter() - began_s)
        for memory in (local, shared):
            await memory.aclose()
    beside_ms, ours_ms = (statistics.median(one) * 1e3 for one in taken_s.values())
    return ours_ms / beside_ms, ours_ms, beside_ms, number


async def _embedded(memory: SqliteMemory) -> None:
    """Wait until every memory has its vector."""
    await memory.recall("anything", 1, person_of(0))
    while memory.lacking_vectors:
        await asyncio.sleep(_LOOK_S)
        await memory.recall("anything", 1, person_of(0))
