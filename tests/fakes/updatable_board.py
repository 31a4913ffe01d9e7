"""A board that is updated: the firmware's own update code behind the agent's `Board`."""

import asyncio
import contextlib
from typing import Any

from msgspec import structs

from agent.errors import CallRefused, LinkLost
from agent.link.base import BoardIdentity, BoardState, BoardStatus
from agent.link.frame import CODES, METHOD_UPDATE
from tests.fakes.board import FakeBoard
from tests.firmware.update_on_cpython import BOARD, Board, Refusal, Reset

IDENTITY = BoardIdentity(BOARD, "00", "0.1.0", 1, 1, "power-on", 1, "raw-ab")
FINISH = 3
AWAY_S = 2.0


class UpdatableBoard(FakeBoard):
    """Answers `exchange` with what the firmware says; resets when the firmware does.

    Args:
        lose: numbers of the exchanges at which the link is lost, before or after they are done.
    """

    def __init__(self, hardware: Board, lose: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.hardware = hardware
        self.identity = IDENTITY
        self.is_away = False
        self.exchanges: list[int] = []
        self._lose = lose

    @property
    def status(self) -> BoardStatus:
        if self.is_away:
            return BoardStatus(BoardState.CONNECTING, "/dev/fake", None, "it was unplugged")
        return BoardStatus(BoardState.READY, "/dev/fake", self.identity)

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        assert method == METHOD_UPDATE
        if self.is_away:
            raise LinkLost("it is away")
        self.exchanges.append(arguments[0])
        if len(self.exchanges) in self._lose:
            self._go_away()
            raise LinkLost("unplugged")
        try:
            answer = self.hardware.run(arguments[0], arguments[1:])
        except Refusal as refusal:
            raise CallRefused(CODES[refusal.code], refusal.text) from refusal
        finally:
            self._pass_time()
        return answer

    def _pass_time(self) -> None:
        with contextlib.suppress(Reset):
            self.hardware.tick(10)
        if self.exchanges[-1] == FINISH:
            asyncio.get_running_loop().call_later(0.3, self.restart)

    def restart(self) -> None:
        """Boot what the slots say, and be greeted a little later."""
        self.hardware.boot()
        self._go_away()

    def _go_away(self) -> None:
        self.is_away = True
        asyncio.get_running_loop().call_later(AWAY_S, self._come_back)

    def _come_back(self) -> None:
        self.is_away = False
        changes: dict[str, Any] = {"build": self.hardware.build()}
        changes["boot_count"] = self.identity.boot_count + 1
        self.identity = structs.replace(self.identity, **changes)
        self.hardware.greet()
