"""Messages that nothing stored is about: none should bring a memory into the prompt.

`unrelated.json` has them in two halves: orders to a device, general knowledge, small talk, in six
languages. The cut was chosen on the first half. The store is the longest conversation of a data
set; its own questions must keep the answers that they find.
"""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.memory.base import Memory, Scope
from agent.memory.settings import MemorySettings
from agent.turn.prompt import recalled
from scripts.lib.bench.brains import LOCAL, BenchBrain
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.recalled import StoryClock, stored
from scripts.lib.bench.table import Row

_MESSAGES = Path(__file__).with_suffix(".json")
# Of all unrelated messages, in %
MODEL_BAR, WORDS_BAR = 5.0, 8.0
_OWNER = Scope("owner")
_SETTINGS = MemorySettings()


@dataclass(slots=True)
class _Told:
    """Messages that got a memory, by half, and questions that kept their answer."""

    messages: dict[str, int] = field(default_factory=dict)
    found: int = 0
    kept: int = 0


def measure(dataset: Dataset, model: Path, brain: BenchBrain = LOCAL) -> list[Row]:
    """The rows of one data set, with the model and by words alone."""
    return asyncio.run(_measured(dataset, model, brain))


async def _measured(dataset: Dataset, model: Path, brain: BenchBrain) -> list[Row]:
    store = max(dataset.groups(), key=lambda one: len(one.documents))
    embedder = OnnxEmbedder(model)
    with_model = await _told(store, embedder, brain)
    by_words = await _told(store, NoEmbedder(), brain)
    await embedder.aclose()
    return [
        _row(store, "with the model", with_model, MODEL_BAR),
        _row(store, "words only", by_words, WORDS_BAR),
    ]


async def _told(store: Dataset, embedder: Embedder, brain: BenchBrain) -> _Told:
    told = _Told()
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
        clock = StoryClock()
        memory = brain.open(Path(folder), clock, embedder)
        keys = await stored(memory, store, clock)
        for half, messages in _messages().items():
            told.messages[half] = sum([await _gets_one(memory, text) for text in messages])
        for query in store.queries:
            found = await memory.recall(query.text, _SETTINGS.recall_limit, _OWNER)
            shown = recalled(found, _SETTINGS.min_score)
            told.found += bool(query.wanted.intersection(keys[one.key] for one in found))
            told.kept += bool(query.wanted.intersection(keys[one.key] for one in shown))
        await memory.aclose()
    return told


async def _gets_one(memory: Memory, text: str) -> bool:
    found = await memory.recall(text, _SETTINGS.recall_limit, _OWNER)
    return bool(recalled(found, _SETTINGS.min_score))


def _messages() -> dict[str, Sequence[str]]:
    halves: dict[str, Sequence[str]] = json.loads(_MESSAGES.read_text(encoding="utf-8"))
    return halves


def _row(store: Dataset, what: str, told: _Told, bar: float) -> Row:
    shares = {
        half: 100 * told.messages[half] / len(messages) for half, messages in _messages().items()
    }
    count = sum(map(len, _messages().values()))
    return Row(
        f"{count} unrelated messages, {len(store.documents)} turns stored, {what}",
        f"<= {bar:g} % get a memory",
        ", ".join(f"{half.replace('_', ' ')} {share:.1f} %" for half, share in shares.items()),
        f"{told.kept} of {told.found} questions keep the answer among their first five",
        max(shares.values()) <= bar,
    )
