"""Composition of the machine's senses: watched once the agent works, told by each turn.

A start loads none of it.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.passage import Passage, configured
from agent.settings import Paths
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.health.machine_monitor import MachineMonitor

# A start has better things to do, and nothing that hurts is new
FIRST_LOOK_S = 5.0


class MachineHealth:
    """The senses of one agent; they say nothing until `run` is at work.

    Args:
        root: where the kernel has its files.
    """

    def __init__(self, paths: Paths, clock: Clock, root: Path = Path("/")) -> None:
        self._paths = paths
        self._clock = clock
        self._root = root
        self._watching: MachineMonitor | None = None

    def sentences(self) -> tuple[str, ...]:
        """Return the present troubles; usually none."""
        return () if self._watching is None else self._watching.sentences()

    def felt(self) -> tuple[Passage, ...]:
        """The same for a model: sentences of ours around numbers of the kernel."""
        return tuple(map(configured, self.sentences()))

    async def run(self, tell: Tell) -> None:
        """Until cancelled."""
        await self._clock.sleep(FIRST_LOOK_S)
        self._watching = await asyncio.to_thread(self._made)
        await self._watching.run(tell)

    def _made(self) -> "MachineMonitor":
        from agent.health.machine_monitor import MachineMonitor  # noqa: PLC0415 - as the docstring says
        from agent.machine.readings import Readings  # noqa: PLC0415 - as above

        state_dir = self._paths.state_dir
        return MachineMonitor(
            Readings(state_dir, self._root), state_dir / "senses.json", self._clock
        )
