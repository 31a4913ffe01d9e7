"""A UART and a board on it whose rate can be changed: ends that differ hear rubbish."""

import asyncio
import struct

from agent.link import frame as wire
from agent.link.frame import Frame
from agent.link.rate import Rates
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import Deliver, FakePort, Peer

START_BAUD, TOP_BAUD = 115_200, 921_600
SILENCE_S = 1.0


class RatedBoard(ScriptedBoard):
    """Answers BAUD, switches, and is back after a second without anything valid.

    Args:
        top_baud: the most that it agrees to; 0 is no, None a firmware that does not know the kind.
    """

    def __init__(self, top_baud: int | None = TOP_BAUD) -> None:
        super().__init__()
        self.baud = START_BAUD
        self.bauds = [START_BAUD]
        self.top_baud = top_baud
        self.loses_its_answer = False
        self.offers: list[int] = []
        self._fall_back: asyncio.TimerHandle | None = None

    def reset(self, cause: int = 2) -> None:
        super().reset(cause)
        self._switch(START_BAUD)

    def _on_frame(self, frame: Frame) -> None:
        if self._fall_back is not None:
            self._await_silence()
        if frame.kind == wire.BAUD:
            self._on_offer(*struct.unpack_from(wire.BAUD_FORMAT, frame.payload))
        else:
            super()._on_frame(frame)

    def _on_offer(self, baud: int) -> None:
        self.offers.append(baud)
        if self.top_baud is None:
            return
        agreed = min(baud, self.top_baud)
        if not self.loses_its_answer:
            self.emit(wire.BAUD_ACK, struct.pack(wire.BAUD_FORMAT, agreed))
        if agreed:
            self._switch(agreed)
            self._await_silence()

    def _await_silence(self) -> None:
        if self._fall_back is not None:
            self._fall_back.cancel()
        loop = asyncio.get_running_loop()
        self._fall_back = loop.call_later(SILENCE_S, self._switch, START_BAUD)

    def _switch(self, baud: int) -> None:
        if self._fall_back is not None:
            self._fall_back.cancel()
            self._fall_back = None
        self.baud = baud
        self.bauds.append(baud)


class RatedPort(FakePort):
    """What is sent while the two ends differ arrives as rubbish."""

    rates = Rates(START_BAUD, TOP_BAUD)

    def __init__(self, peer: Peer, path: str = "/dev/fake-port", seed: int = 7) -> None:
        super().__init__(peer, path, seed)
        assert isinstance(peer, RatedBoard)
        self.board = peer
        self.baud = START_BAUD

    def set_baud(self, baud: int) -> None:
        self.baud = baud

    def carry(self, data: bytes, deliver: Deliver) -> None:
        super().carry(self.chance.randbytes(len(data)) if self.is_rubbish else data, deliver)

    @property
    def is_rubbish(self) -> bool:
        return self.baud != self.board.baud


class PoorCablePort(RatedPort):
    """Carries nothing but the start rate."""

    @property
    def is_rubbish(self) -> bool:
        return super().is_rubbish or self.baud > START_BAUD


class WearingCablePort(RatedPort):
    """Carries every rate until it is worn, then only the start rate."""

    is_worn = False

    @property
    def is_rubbish(self) -> bool:
        return super().is_rubbish or (self.is_worn and self.baud > START_BAUD)
