"""Recall on each data set, beside its baselines and against its bars."""

import asyncio
from dataclasses import replace
from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from scripts.lib.bench import recalled, scanned
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.recalled import KeptReadings, Shares
from scripts.lib.bench.table import NO_BAR, Row

# R@5 and R@10 of conversations, each in a store of its own and all in one
CONVERSATION_BARS = (74.0, 81.0)
ONE_STORE_BARS = (72.0, 79.0)
# R@5 of sentences by words alone; the beginning of a file's name tells which
WORDS_BARS = {"cmrc": 77.0, "drcd": 87.0, "jsquad": 85.0, "korquad": 87.0, "xquad-zh": 87.0}
# R@5 of sentences with the model: at least what half of each, words and vectors, finds: 93.4 in
# English, 86.7 in Spanish, 82.2 in German, 86.8 in Vietnamese and 87.6 in Chinese
SENTENCE_BARS = {"xquad-en": 94, "xquad-es": 88, "xquad-de": 83, "xquad-vi": 86.8, "xquad-zh": 88}

ALONE_BAR = "R@5 >= words only"


def measure(dataset: Dataset, model: Path) -> list[Row]:
    """The rows of one data set."""
    return asyncio.run((_conversations if dataset.is_conversation else _sentences)(dataset, model))


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
    rows.append(await scanned.compared(dataset, embedder))
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
        no_worse(
            sentence_row(dataset.name, "with the model", both, beside.text(), SENTENCE_BARS),
            both,
            words,
        ),
        sentence_row(dataset.name, "words only", words, f"BM25 {beside.words.text()}", WORDS_BARS),
    ]


def sentence_row(name: str, what: str, shares: Shares, beside: str, bars: dict[str, float]) -> Row:
    """Against the bar of that name, before anything is rounded."""
    bar = next((bar for start, bar in bars.items() if name.startswith(start)), None)
    held = None if bar is None else shares.at(5) >= bar
    said = NO_BAR if bar is None else f"R@5 >= {bar:g}"
    return Row(f"{name}, {what}", said, shares.text(), beside, held)


def no_worse(row: Row, both: Shares, words: Shares) -> Row:
    """Return the row with a bar more: in no language may the model find less than words alone."""
    bar = ALONE_BAR if row.held is None else f"{row.bar}, and {ALONE_BAR}"
    return replace(row, bar=bar, held=row.held is not False and both.at(5) >= words.at(5))
