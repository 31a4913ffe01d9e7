"""News of an update's outcome, told to the owner once by the version that runs then.

Only looks at a record: updates are root's work.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import write_atomic
from agent.system.clock import Clock
from agent.update.records import UpdateOutcome, UpdateRecords

_log = logging.getLogger(__name__)

# Nobody waits for it: a file is looked at, and mostly has not changed
LOOK_S = 60.0
NAME = "update-told"


class News:
    """Watches for an outcome.

    Args:
        told: a file of the agent's own, by which it knows what it has told.
    """

    def __init__(self, records: UpdateRecords, told: Path, clock: Clock) -> None:
        self._records = records
        self._told = told
        self._clock = clock
        # Also where there is no room to write it down
        self._told_at_s = 0.0

    async def run(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Tell each outcome once, until cancelled."""
        while True:
            if (outcome := self._untold()) is not None:
                sentence = sentence_of(outcome)
                _log.warning("update: %s", sentence)
                await tell(sentence)
                await self._remember(outcome)
            await self._clock.sleep(LOOK_S)

    def _untold(self) -> UpdateOutcome | None:
        outcome = self._records.outcome()
        if outcome is None or outcome.at_s == self._told_at_s:
            return None
        with contextlib.suppress(OSError):
            if self._told.read_text(errors="replace") == str(outcome.at_s):
                return None
        return outcome

    async def _remember(self, outcome: UpdateOutcome) -> None:
        self._told_at_s = outcome.at_s
        try:
            await asyncio.to_thread(write_atomic, self._told, str(outcome.at_s).encode())
        except StorageFull as err:
            _log.warning("update: the owner is told again after the next start (error=%s)", err)


def sentence_of(outcome: UpdateOutcome) -> str:
    """Return the sentence for the owner."""
    if outcome.is_kept:
        return (
            f"I now run version {outcome.version}, and it is healthy. "
            f"{outcome.from_version} is still there: `barnacle update rollback` returns "
            "to it."
        )
    return (
        f"Version {outcome.version} is not kept: {outcome.reason}. "
        f"I run {outcome.from_version} again."
    )
