"""Order of tools by what a sentence needs: by meaning where there is an embedder, and by words.

Both are asked: an embedder knows paraphrases, the words of the search know ten languages and the
names that the owner gave to pins.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from agent.embeddings.base import Embedder
from agent.errors import EmbedderUnavailable
from agent.messages import ToolSpec
from agent.tools.search import best
from agent.tools.selection import ALWAYS_SHOWN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

# Loading the model takes seconds once; after that a sentence takes milliseconds
EMBED_TIMEOUT_S = 10.0
# Of a message: what is wanted is said at its beginning or its end
_MAX_CHARS = 400
# Sets of tools change with the hardware
_KEPT_TABLES = 4
# Places count as in reciprocal rank fusion: the first few of either list decide
_RANK_OFFSET = 4.0
# What most people want most of the time; it decides where a sentence says nothing
_PRIOR_OFFSET = 12.0


class ToolRanking:
    """Ranks the tools of a set; keeps their vectors.

    Args:
        embedder: None where only words are compared.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._tables: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()

    async def ranked(self, sentence: str, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return all of them, the most likely first; equal ones in their order."""
        asked = sentence if len(sentence) <= _MAX_CHARS else sentence[-_MAX_CHARS:]
        worth = {spec.name: _prior(spec.name) for spec in specs}
        for names in (self._by_words(asked, specs), await self._by_meaning(asked, specs)):
            for place, name in enumerate(names):
                worth[name] += 1.0 / (_RANK_OFFSET + place)
        return sorted(specs, key=lambda spec: -worth[spec.name])

    def _by_words(self, asked: str, specs: Sequence[ToolSpec]) -> list[str]:
        return [spec.name for spec in best(asked, specs, len(specs))] if asked.strip() else []

    async def _by_meaning(self, asked: str, specs: Sequence[ToolSpec]) -> list[str]:
        if self._embedder is None or not asked.strip() or not specs:
            return []
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                scores = await self._scores(self._embedder, asked, specs)
        except EmbedderUnavailable as err:
            _log.info("tools: chosen by words alone (error=%s)", err)
            return []
        except TimeoutError:
            _log.info("tools: chosen by words alone (error=the embedding model is too slow)")
            return []
        ranked = sorted(zip(scores, specs, strict=False), key=lambda pair: -pair[0])
        return [spec.name for _, spec in ranked]

    async def _scores(
        self, embedder: Embedder, asked: str, specs: Sequence[ToolSpec]
    ) -> Sequence[float]:
        # To tell its dimensions an embedder may have to read its model
        if await asyncio.to_thread(lambda: embedder.dimensions) == 0:
            return ()
        texts = [f"{spec.name.replace('_', ' ')}: {spec.description}" for spec in specs]
        key = (embedder.model_id, *texts)
        if key not in self._tables:
            self._tables[key] = await embedder.embed(texts)
            while len(self._tables) > _KEPT_TABLES:
                self._tables.popitem(last=False)
        (vector,) = await embedder.embed([asked], asked=True)
        scores: list[float] = (self._tables[key] @ vector).tolist()
        return scores


def _prior(name: str) -> float:
    for place, pattern in enumerate(ALWAYS_SHOWN):
        if fnmatchcase(name, pattern):
            return 1.0 / (_PRIOR_OFFSET + place)
    return 0.0
