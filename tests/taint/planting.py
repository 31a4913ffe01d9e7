"""Where a canary stands: one source of a world, and what stands at all others."""

from dataclasses import dataclass, field
from pathlib import Path

from agent.settings import Paths
from agent.tools.base import AnyTool
from agent.tools.board import BoardTools
from agent.tools.reflex import ReflexTools
from tests.fakes.board import FakeBoard
from tests.fakes.pi_pins import FakePi
from tests.taint.sources import SOURCES

# No word of any language, and fit to be a name, a file and a part of an address
CANARY = "qzcanary5e1f"


@dataclass
class World:
    """Everything outside; `planted` is the one source that holds the text, a canary or more.

    Args:
        workspace: the agent's.
        tools: all there are, in the order of the factory.
    """

    folder: Path
    planted: str = ""
    text: str = CANARY
    tools: list[AnyTool] = field(default_factory=list)
    board_tools: BoardTools | None = None
    reflexes: ReflexTools | None = None
    board: FakeBoard = field(default_factory=FakeBoard)
    pi: FakePi = field(default_factory=lambda: FakePi({}))
    posted: list[str] = field(default_factory=list)
    sent_out: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return Paths(None, self.folder).workspace

    def at(self, source: str, usual: str) -> str:
        """What stands at a source."""
        assert source in SOURCES, source
        return f"{usual}{self.text}" if source == self.planted else usual

    def is_at(self, source: str) -> bool:
        assert source in SOURCES, source
        return source == self.planted

    def plugged(self) -> list[AnyTool]:
        assert self.board_tools is not None
        assert self.reflexes is not None
        return [*self.board_tools.tools(), *self.reflexes.tools()]
