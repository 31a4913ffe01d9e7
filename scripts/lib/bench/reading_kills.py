"""Kills of a recorder: what it had said to be written is there afterwards, once and right."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.readings.packing import Retention
from agent.readings.store import DAY_MS, ReadingStore
from scripts.lib.bench.reading_brain import store_at
from scripts.lib.bench.reading_keeper import BEGIN_MS, COUNTER, SLOTS
from scripts.lib.bench.table import Row
from tests.fakes.postgres import PostgresServer

MINUTES = 1440
# Kills after which the server is killed, too, and started again
_RESTART_KILLS = 5


def killed_row(folder: Path, kills: int, server: PostgresServer | None = None) -> Row:
    """Kill a recorder again and again: what it had said to be written is there, once."""
    folder.mkdir()
    url = "" if server is None else server.fresh_url()
    chance = random.Random(3)  # noqa: S311 - as above
    said = 0
    for kill in range(kills):
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "scripts.lib.bench.reading_keeper",
                *(str(folder), str(said), "0", "", url),
            ],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[3],
        )
        assert child.stdout is not None
        # After the first line it is at work; then at any moment
        if server is not None and kill % _RESTART_KILLS == _RESTART_KILLS - 1:
            server.stop()
            server.start()
        for line in _lines_for(child.stdout.fileno(), chance.random() * 0.3):
            said = max(said, int(line))
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        said = max([said, *(int(line) for line in rest.split() if line.isdigit())])
    found = asyncio.run(_looked_at(folder, said, url))
    told = f"{found.text} of {said}"
    beside = "" if server is None else f"the server killed at each {_RESTART_KILLS}th"
    return Row(f"{kills} kill -9: values that were written", "none", told, beside, found.is_fine)


def _lines_for(handle: int, wait_s: float) -> Iterator[str]:
    """Yield the lines that arrive, for so long after the first."""
    with os.fdopen(os.dup(handle), "r") as lines:
        yield lines.readline().strip() or "0"
        end_s = time.monotonic() + wait_s
        while time.monotonic() < end_s:
            line = lines.readline().strip()
            if not line:
                return
            yield line


async def _looked_at(folder: Path, said: int, url: str) -> "Harm":
    store = store_at(folder, url, SLOTS, Retention())
    await store.open()
    if url:
        # What waits here goes to the server, and is asked there
        store.place(BEGIN_MS, is_sure=True)
        await store.commit(BEGIN_MS + said * 60_000)
        await store.settle()
    found = await harm_of(store, said)
    await store.aclose()
    return found


@dataclass(frozen=True, slots=True)
class Harm:
    """Return how many values are lost, there twice or wrong, and which one is the last."""

    lost: int
    twice: int
    wrong: int
    last: int = -1

    @property
    def is_fine(self) -> bool:
        return not (self.lost or self.twice or self.wrong)

    @property
    def text(self) -> str:
        return f"{self.lost} lost, {self.twice} twice, {self.wrong} wrong"


async def harm_of(store: ReadingStore, said: int) -> Harm:
    """Return what has come of the first values; value n was recorded at minute n."""
    series = await store.series(COUNTER, 60)
    seen: list[float] = []
    wrong = 0
    for day in range(said // MINUTES + 2):
        rows = await store.rows(series, BEGIN_MS + day * DAY_MS, BEGIN_MS + (day + 1) * DAY_MS)
        seen += rows.means
        wrong += sum(
            (at - BEGIN_MS) // 60_000 != value
            for at, value in zip(rows.at_ms, rows.means, strict=True)
        )
    there = set(seen)
    lost = sum(value not in there for value in range(said))
    return Harm(lost, len(seen) - len(there), wrong, int(max(seen, default=-1)))
