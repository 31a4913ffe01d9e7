"""The emergency stop as people in a channel use it: anybody may stop, only the owner may clear."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from agent.clock import Clock
from agent.messages import Inbound, Provenance
from agent.printable import printable_line
from agent.security.estop import EmergencyStop

# Unlocks one board and says in a sentence how that went
Unlock = Callable[[], Awaitable[str]]

_log = logging.getLogger(__name__)

# Somebody who stops it from another terminal sees it stand within 0.2 s; each look is one stat
LOOK_S = 0.1
# A person's stable id on a platform is shorter
_MAX_WHO_CHARS = 60
NOT_THE_OWNER_TEXT = "Only the owner may clear the emergency stop."
NOT_RECORDED_TEXT = "It could not be written to the disk, so it ends when I am restarted."


class Emergency:
    """What `/estop` and `/estop clear` do.

    Args:
        unlocks: one for each board; it releases what the board has locked by itself as well.
    """

    def __init__(self, stop: EmergencyStop, unlocks: Sequence[Unlock]) -> None:
        self.stop = stop
        self._unlocks = unlocks
        self._is_recorded = True

    @property
    def sentence(self) -> str:
        """How it stands, for whoever has stopped it."""
        if not self.stop.is_set:
            return "The emergency stop was cleared again."
        said = f"EMERGENCY STOP. Outputs go to their safe values: {self.stop.sentence}."
        return said if self._is_recorded else f"{said} {NOT_RECORDED_TEXT}"

    async def engage(self, inbound: Inbound) -> None:
        """Stop everything, whoever says so."""
        who = printable_line(inbound.sender, _MAX_WHO_CHARS)
        self._is_recorded = await self.stop.engage(f"by {who} on {inbound.channel}")

    async def clear(self, inbound: Inbound) -> str:
        """Let things move again, if the owner says so; how that went.

        Raises:
            StorageFull: the stop stays.
        """
        if inbound.provenance is not Provenance.OWNER:
            return NOT_THE_OWNER_TEXT
        was_set = self.stop.is_set
        await self.stop.clear()
        said = "The emergency stop is cleared." if was_set else "The emergency stop was not set."
        return " ".join([said, *await self._unlock()])

    async def watch(self, clock: Clock) -> None:
        """Do what another process says by the file; until cancelled."""
        while True:
            await clock.sleep(LOOK_S)
            was_set = self.stop.is_set
            self.stop.look()
            if was_set and not self.stop.is_set:
                _log.warning("cleared from outside: %s", " ".join(await self._unlock()))

    async def _unlock(self) -> list[str]:
        return [await unlock() for unlock in self._unlocks]
