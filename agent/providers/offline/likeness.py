"""Likeness of a message to sentences of the vocabulary and to tools, by embeddings.

For languages that the model knows. Without a model only a sentence that is the same word for word
is found. Nothing here decides to act: what is found is read like any other sentence.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.embeddings.base import Embedder
from agent.errors import EmbedderUnavailable
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.pieces import Analysis, analyse
from agent.providers.offline.toolbox import Profile
from agent.providers.offline.units import UNSPACED, UnitKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

# Loading the model and embedding all sentences once takes seconds on the slowest device
EMBED_TIMEOUT_S = 20.0
# A paraphrase is a sentence: longer text is not compared
_MAX_CHARS = 200
# From here on a sentence is taken for the message; a description says more, so it is less like it
ALIKE = 0.55
TOOL_ALIKE = 0.45
# So alike, it is better than words that left something unexplained
VERY_ALIKE = 0.7
# So many sentences are tried in turn
_TRIED = 3
# Vectors are kept for every language that was spoken, and every set of tools, lately
_KEPT_TABLES = 8
_COURTESY = frozenset({"request", "greet", "filler", "amend", "stop"})


class SimilarSentence(Struct, frozen=True):
    """Sentence that a message may stand for; `sure` if it is that order, word for word."""

    means: str
    code: str
    likeness: float
    sure: bool


class Likenesses:
    """Compares messages by embeddings; keeps the vectors of what does not change."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._tables: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()

    async def sentences(self, analysis: Analysis) -> list[SimilarSentence]:
        """Return the sentences of the vocabulary most like the message, best first; often none."""
        known = lexicon(analysis.code).likenesses
        spoken = _spoken(analysis)
        for one, words in zip(known, _spoken_sentences(analysis.code), strict=True):
            if words == spoken:
                return [SimilarSentence(one.means, analysis.code, 1.0, sure=not one.hint)]
        scores = await self._scores(analysis, [one.say for one in known])
        ranked = sorted(zip(scores, known, strict=False), key=lambda pair: -pair[0])
        return [
            SimilarSentence(one.means, analysis.code, score, sure=False)
            for score, one in ranked[:_TRIED]
            if score >= ALIKE
        ]

    async def tool(self, analysis: Analysis, profiles: Sequence[Profile]) -> Profile | None:
        """Return the tool whose description is most like the message, if any is."""
        texts = [f"{one.name.replace('_', ' ')}: {one.spec.description}" for one in profiles]
        scores = await self._scores(analysis, texts)
        ranked = sorted(zip(scores, profiles, strict=False), key=lambda pair: -pair[0])
        return next((profile for score, profile in ranked[:1] if score >= TOOL_ALIKE), None)

    async def _scores(self, analysis: Analysis, texts: Sequence[str]) -> Sequence[float]:
        """Return the likeness of the message to each text; nothing if it cannot be told."""
        if self._embedder is None or not texts or not _is_comparable(analysis):
            return ()
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                return await self._compared(self._embedder, analysis, texts)
        except EmbedderUnavailable as err:
            _log.warning("offline: paraphrases off (error=%s)", err)
        except TimeoutError:
            _log.warning("offline: paraphrases off (error=the model is too slow)")
        return ()

    async def _compared(
        self, embedder: Embedder, analysis: Analysis, texts: Sequence[str]
    ) -> Sequence[float]:
        # To tell its dimensions an embedder may have to read its model
        if await asyncio.to_thread(_dimensions, embedder) == 0:
            return ()
        key = (embedder.model_id, *texts)
        if key not in self._tables:
            self._tables[key] = await embedder.embed(texts)
            while len(self._tables) > _KEPT_TABLES:
                self._tables.popitem(last=False)
        (vector,) = await embedder.embed([analysis.text])
        scores: list[float] = (self._tables[key] @ vector).tolist()
        return scores


@cache
def _spoken_sentences(code: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_spoken(analyse(one.say, code)) for one in lexicon(code).likenesses)


def _dimensions(embedder: Embedder) -> int:
    return embedder.dimensions


def _is_comparable(analysis: Analysis) -> bool:
    spaced = all(piece.kind not in UNSPACED for piece in analysis.pieces)
    said = any(piece.kind is UnitKind.WORD for piece in analysis.pieces)
    return spaced and said and len(analysis.text) <= _MAX_CHARS


def _spoken(analysis: Analysis) -> tuple[str, ...]:
    """Return the words without courtesy, to compare sentences by."""
    return tuple(
        piece.text
        for piece in analysis.pieces
        if piece.kind is not UnitKind.MARK
        and not (piece.known and _COURTESY.issuperset(piece.senses))
    )
