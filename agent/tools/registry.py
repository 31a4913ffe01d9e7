"""The tools that exist right now, by name.

Some are fixed; some come and go with hardware. Sorted, so that a prompt made of them is stable.
"""

from collections.abc import Callable, Sequence

from agent.messages import ToolSpec
from agent.tools.base import AnyTool

ToolSource = Callable[[], Sequence[AnyTool]]


class Registry:
    """Fixed tools and sources of tools; on the same name the fixed one stays."""

    def __init__(self, fixed: Sequence[AnyTool], sources: Sequence[ToolSource] = ()) -> None:
        self._fixed = tuple(fixed)
        self._sources = tuple(sources)

    def find(self, name: str) -> AnyTool | None:
        return self._by_name().get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec() for _, tool in sorted(self._by_name().items()))

    def _by_name(self) -> dict[str, AnyTool]:
        tools: dict[str, AnyTool] = {}
        for source in self._sources:
            tools.update({tool.name: tool for tool in source()})
        tools.update({tool.name: tool for tool in self._fixed})
        return tools
