"""Sentences of the vocabulary that mean nearly the same as a message, found by embeddings.

For languages that the model knows. Without a model only a sentence that is the same word for word
is found. Nothing here decides to act: what is found is read like any other sentence.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.errors import EmbedderUnavailable
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.units import UNSPACED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

# Loading the model and embedding the sentences once takes seconds on the slowest device
EMBED_TIMEOUT_S = 20.0
# A paraphrase is a sentence: longer text is not compared
_MAX_CHARS = 200
# From here on a sentence is taken for the message, from here on without asking
_ALIKE = 0.55
_SURE = 0.8
# So many sentences are tried in turn
_TRIED = 3
# Vectors are kept for every language that was spoken lately
_KEPT_TABLES = 4


@dataclass(frozen=True, slots=True)
class Found:
    """What a message may stand for, and whether it is nearly certain."""

    means: str
    code: str
    sure: bool


class Likenesses:
    """Looks for sentences; keeps the vectors of the vocabulary's own."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._tables: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    async def nearest(self, analysis: Analysis) -> list[Found]:
        """The sentences most like the message, best first; often none."""
        sentences = lexicon(analysis.code).likenesses
        same = [one for one in sentences if _words(one.say, analysis.code) == _spoken(analysis)]
        if same:
            return [Found(same[0].means, analysis.code, sure=True)]
        if not sentences or not self._is_comparable(analysis):
            return []
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                scores = await self._scores(analysis)
        except (EmbedderUnavailable, TimeoutError) as err:
            _log.warning(
                "paraphrases are not understood now: %s", str(err) or "the model is too slow"
            )
            return []
        ranked = sorted(range(len(sentences)), key=lambda place: -scores[place])[:_TRIED]
        return [
            Found(sentences[place].means, analysis.code, sure=scores[place] >= _SURE)
            for place in ranked
            if scores[place] >= _ALIKE
        ]

    def _is_comparable(self, analysis: Analysis) -> bool:
        if self._embedder is None or self._embedder.dimensions == 0:
            return False
        spaced = all(piece.kind not in UNSPACED for piece in analysis.pieces)
        return spaced and 0 < len(analysis.text) <= _MAX_CHARS

    async def _scores(self, analysis: Analysis) -> Sequence[float]:
        if self._embedder is None:
            return ()
        table = await self._table(self._embedder, analysis.code)
        (vector,) = await self._embedder.embed([analysis.text])
        scores: list[float] = (table @ vector).tolist()
        return scores

    async def _table(self, embedder: Embedder, code: str) -> "NDArray[np.float32]":
        key = (embedder.model_id, code)
        if key not in self._tables:
            sentences = [one.say for one in lexicon(code).likenesses]
            self._tables[key] = await embedder.embed(sentences)
            while len(self._tables) > _KEPT_TABLES:
                self._tables.popitem(last=False)
        return self._tables[key]


def _words(text: str, code: str) -> tuple[str, ...]:
    return _spoken(analyse(text, code))


def _spoken(analysis: Analysis) -> tuple[str, ...]:
    return tuple(piece.text for piece in analysis.pieces if piece.text.strip(".,!?¿¡"))
