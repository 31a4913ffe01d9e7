"""Drawings of readings: their CPU and their size."""

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from agent.readings.chart import ChartLook, chart_of
from agent.readings.packing import Retention
from agent.readings.periods import Span
from agent.readings.store import DAY_MS, ReadingStore
from agent.tools.readings_draw import PROGRAM
from scripts.lib.bench.reading_history import BEGIN_MS, MINUTES, recorded
from scripts.lib.bench.table import Row

# Bars
MOST_DRAWING_MS = 300
MOST_DRAWING_BYTES = 60 * 1024


async def drawn_rows() -> list[Row]:
    noise = random.Random(2)  # noqa: S311 - as above
    with tempfile.TemporaryDirectory() as name:
        store = ReadingStore(Path(name), Retention(), "boot")
        await store.open()
        every = await recorded(store, 1, MINUTES)
        span = Span(BEGIN_MS, BEGIN_MS + DAY_MS)
        chart = chart_of(
            await store.rows(every[0], span.begin_ms, span.end_ms),
            span,
            60,
            ChartLook(f"sensor {noise.randrange(9)}", (18.0,)),
        )
        await store.aclose()
    cpu_ms, size = _drawing(json.dumps(chart).encode())
    return [
        Row(
            "a drawing, CPU, median of 7",
            f"<= {MOST_DRAWING_MS} ms",
            f"{cpu_ms:.0f} ms",
            "a process of its own: its memory goes with it",
            cpu_ms <= MOST_DRAWING_MS,
        ),
        Row(
            "a drawing, bytes", "<= 60 KB", f"{size / 1024:.0f} KB", "", size <= MOST_DRAWING_BYTES
        ),
    ]


def _drawing(chart: bytes) -> tuple[float, int]:
    took: list[float] = []
    size = 0
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-I", str(PROGRAM)], input=chart, capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took.append(used_s * 1000)
        size = len(done.stdout)
    return sorted(took)[len(took) // 2], size
