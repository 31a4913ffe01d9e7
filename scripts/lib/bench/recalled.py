"""Share of the evidence among the first results: the agent's memory and its baselines."""

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np

from agent.embeddings.base import PassageReading, TextPassage
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.base import CONVERSATION, Memory, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from scripts.lib.bench.datasets import Dataset, Document
from scripts.lib.bench.reference import ReferenceStore

FIRST = (1, 5, 10)
# A line about long work this often
_SAY_EVERY_S = 15.0

Bars = tuple[float, float]


@dataclass(slots=True)
class Shares:
    """Of the evidence, by how many of the first found are looked at; averaged over questions."""

    found: dict[int, list[float]] = field(default_factory=lambda: {first: [] for first in FIRST})
    gains: list[float] = field(default_factory=list)

    def count(self, ids: Sequence[str], wanted: frozenset[str]) -> None:
        for first in FIRST:
            self.found[first].append(len(wanted.intersection(ids[:first])) / len(wanted))
        self.gains.append(_gain(ids, wanted))

    def at(self, first: int) -> float:
        return fmean(self.found[first]) * 100 if self.found[first] else 0.0

    @property
    def ndcg(self) -> float:
        """Among the first ten; what is found early counts more."""
        return fmean(self.gains) * 100 if self.gains else 0.0

    def text(self) -> str:
        shares = " / ".join(f"{self.at(first):.1f}" for first in FIRST)
        return f"{shares} / {self.ndcg:.1f}"


def _gain(ids: Sequence[str], wanted: frozenset[str]) -> float:
    """Of what the best order would give."""
    most = max(FIRST)
    steps = [1 / math.log2(place + 2) for place in range(most)]
    gained = math.fsum(step for step, one in zip(steps, ids, strict=False) if one in wanted)
    return gained / math.fsum(steps[: len(wanted)])


class KeptReadings:
    """The model, which reads no text twice: each is stored in more than one store here."""

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self._embedder = embedder
        self._kept: dict[tuple[TextPassage, bool], PassageReading] = {}
        self.model_id = embedder.model_id
        self.dimensions = embedder.dimensions

    async def read(
        self, passages: Sequence[TextPassage], *, asked: bool = False
    ) -> list[PassageReading]:
        new = [one for one in passages if (one, asked) not in self._kept]
        for one, reading in zip(new, await self._embedder.read(new, asked=asked), strict=True):
            self._kept[one, asked] = reading
        return [self._kept[one, asked] for one in passages]

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> np.ndarray:
        read = await self.read([TextPassage(text) for text in texts], asked=asked)
        return np.array([reading.vector for reading in read])

    async def aclose(self) -> None:
        self._kept.clear()


class StoryClock:
    """It is when the document that is being stored was said."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        raise NotImplementedError("nothing waits here")


async def agent(stores: Sequence[Dataset], embedder: KeptReadings | NoEmbedder) -> Shares:
    """Measure the recall of the agent's memory, one store after the other."""
    shares = Shares()
    for store in stores:
        with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
            clock = StoryClock()
            memory = SqliteMemory(Path(folder) / "brain.db", embedder, clock)
            await _ask(memory, store, await stored(memory, store, clock), shares)
            await memory.aclose()
    return shares


async def stored(memory: Memory, store: Dataset, clock: StoryClock) -> dict[str, str]:
    """The documents by the keys of their memories."""
    keys: dict[str, str] = {}
    said_s = time.monotonic()
    for number, document in enumerate(store.documents):
        clock.now_s = document.at_s
        scope = Scope("owner", session=document.session)
        # Without a key of its own, which would be searched too; equal texts are one memory
        entry = await memory.store(
            "", document.text, category=CONVERSATION, scope=scope, provenance=Provenance.OWNER
        )
        keys[entry.key] = document.document_id
        if time.monotonic() - said_s > _SAY_EVERY_S:
            said_s = time.monotonic()
            print(f"  {number:,} of {len(store.documents):,} stored", flush=True)
    return keys


async def _ask(memory: SqliteMemory, store: Dataset, keys: dict[str, str], shares: Shares) -> None:
    said_s = time.monotonic()
    for number, query in enumerate(store.queries):
        found = await memory.recall(query.text, max(FIRST), Scope("owner"))
        shares.count([keys[entry.key] for entry in found], query.wanted)
        if time.monotonic() - said_s > _SAY_EVERY_S:
            said_s = time.monotonic()
            print(f"  {number:,} of {len(store.queries):,} asked", flush=True)


@dataclass(slots=True)
class Baselines:
    """Recall of the baselines on the same documents."""

    reference: Shares = field(default_factory=Shares)
    words: Shares = field(default_factory=Shares)
    vectors: Shares = field(default_factory=Shares)

    def text(self) -> str:
        parts = ("reference", self.reference), ("BM25", self.words), ("vectors", self.vectors)
        return ", ".join(f"{name} {shares.text()}" for name, shares in parts)


async def baselines(stores: Sequence[Dataset], embedder: KeptReadings) -> Baselines:
    found = Baselines()
    most = max(FIRST)
    for store in stores:
        reference = ReferenceStore(store.documents, await _vectors(store.documents, embedder))
        for query in store.queries:
            [vector] = await embedder.embed([query.text], asked=True)
            found.reference.count(reference.hybrid(query.text, vector, most), query.wanted)
            found.words.count(reference.by_words(query.text, most), query.wanted)
            found.vectors.count(reference.by_vectors(vector, most), query.wanted)
        reference.close()
    return found


async def _vectors(documents: Sequence[Document], embedder: KeptReadings) -> np.ndarray:
    return await embedder.embed([document.text for document in documents])
