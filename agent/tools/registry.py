"""Registry of the tools that exist right now, by name.

Some are fixed; some come and go with hardware. Sorted, so that a prompt made of them is stable.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.embeddings.base import Embedder
from agent.messages import ToolSpec
from agent.tools.base import AnyTool

if TYPE_CHECKING:
    from agent.tools.ranking import ToolRanking

ToolSource = Callable[[], Sequence[AnyTool]]


class _Assembled(Struct, frozen=True):
    """Tools assembled from the current sources."""

    plugged: tuple[AnyTool, ...]
    by_name: Mapping[str, AnyTool]
    specs: tuple[ToolSpec, ...]


class Registry:
    """Fixed tools and sources of tools; a fixed tool wins over another of the same name.

    Args:
        embedder: compares sentences with tools; None where only words are compared.
    """

    def __init__(
        self,
        fixed: Sequence[AnyTool],
        sources: Sequence[ToolSource] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self._fixed = tuple(fixed)
        self._sources = tuple(sources)
        self._embedder = embedder
        self._last: _Assembled | None = None

    @cached_property
    def ranking(self) -> "ToolRanking":
        """Return the order of tools by what a sentence needs."""
        from agent.tools.ranking import ToolRanking  # noqa: PLC0415 - small windows alone need it

        return ToolRanking(self._embedder)

    def of(self, source: ToolSource) -> "Registry":
        """Return a registry of another source that compares sentences alike."""
        return Registry((), [source], self._embedder)

    def find(self, name: str) -> AnyTool | None:
        return self._now().by_name.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._now().specs

    def _now(self) -> _Assembled:
        """Return the tools; assemble them again only after a change."""
        plugged = tuple(tool for source in self._sources for tool in source())
        last = self._last
        if last is None or not _are_the_same(plugged, last.plugged):
            last = self._last = self._assembled(plugged)
        return last

    def _assembled(self, plugged: tuple[AnyTool, ...]) -> _Assembled:
        by_name = {tool.name: tool for tool in (*plugged, *self._fixed)}
        specs = tuple(tool.spec() for _, tool in sorted(by_name.items()))
        return _Assembled(plugged, by_name, specs)


def _are_the_same(tools: Sequence[AnyTool], others: Sequence[AnyTool]) -> bool:
    return len(tools) == len(others) and all(map(operator.is_, tools, others))
