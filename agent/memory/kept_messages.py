"""Number of the last message whose memories a brain has kept.

The brain is asked for it at first, and whenever something that was done may have come to nothing.
"""

import sqlite3
from collections.abc import Callable

from agent.memory import facts
from agent.memory.brain import Brain


class KeptMessages:
    """The number in one brain, which nobody else changes."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        # With the failures of the brain until it was known
        self._known: tuple[int, int | None] | None = None

    async def until(self) -> int | None:
        """Return the number; None if no message was kept."""
        as_of = self._brain.failures
        if self._known is None or self._known[0] != as_of:
            self._known = as_of, await self._brain.look(facts.kept_until)
        return self._known[1]

    async def keep(self, heard_id: int, job: Callable[[sqlite3.Connection], None]) -> None:
        """Run a job that keeps a message, and note its number in the same transaction."""

        def kept(db: sqlite3.Connection) -> None:
            job(db)
            facts.put_kept(db, heard_id)

        as_of = self._brain.failures
        await self._brain.redoable(kept)
        self._known = as_of, heard_id
