"""The hand of a person on the boards, past every model: stop them, release them, loosen limits.

Anybody may stop; only the owner may release and loosen.
"""

import logging
from collections.abc import Sequence

from agent.access.commands import ChatCommand
from agent.link.base import Board
from agent.messages import Inbound, Provenance
from agent.security.estop import EmergencyStop
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# A person's stable id on a platform is shorter
_MAX_WHO_CHARS = 60
NOT_THE_OWNER_TEXT = "Only the owner may do that."
NOT_RECORDED_TEXT = "It could not be saved to disk, so a restart ends it."
NOTHING_PENDING_TEXT = "No board is waiting for your approval."


class EstopControl:
    """Runs `/estop`, `/estop clear` and `/configure yes`."""

    def __init__(self, stop: EmergencyStop, boards: Sequence[Board]) -> None:
        self._stop = stop
        self._boards = boards
        self._is_recorded = True
        for board in boards:
            stop.listen(board.stop, board.allow)

    @property
    def stop(self) -> EmergencyStop:
        return self._stop

    @property
    def boards(self) -> Sequence[Board]:
        return self._boards

    async def engage(self, message: Inbound) -> None:
        """Stop everything, whoever says so; before the message is even recorded."""
        who = printable_line(message.who, _MAX_WHO_CHARS)
        self._is_recorded = await self._stop.engage(f"by {who} on {message.channel}")

    async def obey(self, command: ChatCommand, message: Inbound) -> str:
        """Run the command and return the answer.

        Raises:
            StorageFull: the stop stays.
        """
        if command is ChatCommand.ESTOP:
            return self._how_it_stands()
        if message.provenance is not Provenance.OWNER:
            return NOT_THE_OWNER_TEXT
        return self._agree() if command is ChatCommand.CONFIGURE else await self._clear()

    async def watch(self, clock: Clock) -> None:
        """Do what another process says by the file; until cancelled."""
        changes = self._stop.changes(clock)
        try:
            while True:
                await changes.wait()
                await self._look()
        finally:
            changes.close()

    async def _look(self) -> None:
        was_set = self._stop.is_set
        self._stop.look()
        if was_set and not self._stop.is_set:
            _log.info(
                "estop: cleared by another process (boards=%s)", " ".join(await self._unlock())
            )

    def _how_it_stands(self) -> str:
        if not self._stop.is_set:
            return "The emergency stop has been cleared."
        said = f"EMERGENCY STOP. Outputs go to their safe values: {self._stop.sentence}."
        return said if self._is_recorded else f"{said} {NOT_RECORDED_TEXT}"

    async def _clear(self) -> str:
        was_set = self._stop.is_set
        await self._stop.clear()
        said = "The emergency stop is cleared." if was_set else "The emergency stop was not set."
        return " ".join([said, *await self._unlock()])

    def _agree(self) -> str:
        agreed: list[str] = []
        for board in self._boards:
            agreed += [f"{board.name}: {words}" for words in board.pending]
            board.agree()
        return f"The new limits apply: {'; '.join(agreed)}." if agreed else NOTHING_PENDING_TEXT

    async def _unlock(self) -> list[str]:
        return [await board.unlock() for board in self._boards]
