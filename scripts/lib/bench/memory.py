"""Measures the memory against its bars and prints one table.

Data sets are JSON files of a folder; `datasets.py` beside this file says what is in them. Every row
has its own file beside this one.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from scripts.lib.bench import crowd, embedded, recalled, stored
from scripts.lib.bench.datasets import Dataset, load
from scripts.lib.bench.recalled import KeptReadings, Shares
from scripts.lib.bench.table import Row, show

ROOT = Path(__file__).resolve().parents[3]
# R@5 and R@10 of conversations, each in a store of its own and all in one
CONVERSATION_BARS = (74.0, 81.0)
ONE_STORE_BARS = (72.0, 79.0)
# R@5 of sentences by words alone; the beginning of a file's name tells which
WORDS_BARS = {"cmrc": 77.0, "drcd": 87.0, "jsquad": 85.0, "korquad": 87.0, "xquad-zh": 87.0}
# R@5 of sentences with the model: what the simple half-and-half ranking found
SENTENCE_BARS = {"xquad-en": 94, "xquad-es": 88, "xquad-de": 83, "xquad-vi": 89, "xquad-zh": 88}


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of each is measured."""

    queries: int
    memories: int
    stores: int
    texts: int


WHOLE = Extent(1_000_000, 100_000, 500, 300)
QUICK = Extent(60, 10_000, 100, 60)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    datasets = [load(path) for path in sorted(given.data.glob("*.json"))]
    if not datasets:
        print(f"bench-memory: {given.data} has no .json file", file=sys.stderr)
        return 2
    if not (given.model / "model.onnx").exists():
        print(f"bench-memory: no model in {given.model}: run scripts/setup", file=sys.stderr)
        return 2
    extent = QUICK if given.quick else WHOLE
    rows = [
        row
        for name, measure in _parts(datasets, given.model, extent)
        for row in _measured(name, measure)
    ]
    print()
    show(rows)
    print("\nfound: R@1 / R@5 / R@10 in %, the share of the evidence among the first 1, 5 and 10")
    return 0 if all(row.held is not False for row in rows) else 1


def _parts(
    datasets: Sequence[Dataset], model: Path, extent: Extent
) -> list[tuple[str, Callable[[], list[Row]]]]:
    texts = [document.text for document in datasets[0].documents]
    parts: list[tuple[str, Callable[[], list[Row]]]] = [
        ("store", lambda: [stored.measure(texts[: extent.stores])]),
        ("embedding", lambda: [embedded.measure(texts[: extent.texts], model)]),
        (
            f"{extent.memories:,} memories",
            lambda: crowd.measure(datasets[0], model, extent.memories),
        ),
    ]
    found = [(one.name, _finding(one.thinned(extent.queries), model)) for one in datasets]
    return [*parts, *found]


def _finding(dataset: Dataset, model: Path) -> Callable[[], list[Row]]:
    measure = _conversations if dataset.is_conversation else _sentences
    return lambda: asyncio.run(measure(dataset, model))


async def _conversations(dataset: Dataset, model: Path) -> list[Row]:
    embedder = OnnxEmbedder(model)
    kept = KeptReadings(embedder)
    rows = []
    for what, stores, bars in (
        ("a store for each", dataset.groups(), CONVERSATION_BARS),
        ("all in one store", [dataset], ONE_STORE_BARS),
    ):
        shares = await recalled.agent(stores, kept)
        beside = await recalled.baselines(stores, kept)
        held = shares.at(5) >= bars[0] and shares.at(10) >= bars[1]
        bar = f"R@5 / R@10 >= {bars[0]:g} / {bars[1]:g}"
        rows.append(Row(f"{dataset.name}, {what}", bar, shares.text(), beside.text(), held))
    await embedder.aclose()
    return rows


async def _sentences(dataset: Dataset, model: Path) -> list[Row]:
    embedder = OnnxEmbedder(model)
    kept = KeptReadings(embedder)
    stores = dataset.groups()
    both, beside = await recalled.agent(stores, kept), await recalled.baselines(stores, kept)
    words = await recalled.agent(stores, NoEmbedder())
    await embedder.aclose()
    return [
        _sentence_row(dataset.name, "with the model", both, beside.text(), SENTENCE_BARS),
        _sentence_row(dataset.name, "words only", words, f"BM25 {beside.words.text()}", WORDS_BARS),
    ]


def _sentence_row(name: str, what: str, shares: Shares, beside: str, bars: dict[str, float]) -> Row:
    bar = next((bar for start, bar in bars.items() if name.startswith(start)), None)
    held = None if bar is None else round(shares.at(5)) >= bar
    said = "no bar" if bar is None else f"R@5 >= {bar:g}"
    return Row(f"{name}, {what}", said, shares.text(), beside, held)


def _measured(name: str, measure: Callable[[], list[Row]]) -> list[Row]:
    print(f"{name} ...", flush=True)
    began_s = time.monotonic()
    rows = measure()
    print(f"{name}: {time.monotonic() - began_s:.0f} s", flush=True)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-memory", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--model", type=Path, default=ROOT / ".barnacle" / "model")
    parser.add_argument("--quick", action="store_true", help="less of everything, in a few minutes")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
