"""Real serial ports with something in between that loses or cuts what goes to the board."""

import asyncio
import random

from agent.link.discovery import SerialPorts
from agent.link.port import OnBytes, OnLost, SerialPort
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock


class LossySerialPort:
    """Every fifth write and every fifth piece that was read is lost."""

    share = 0.2

    def __init__(self, inner: SerialPort) -> None:
        self.path = inner.path
        self.rates = inner.rates
        self._inner = inner
        self._chance = random.Random(11)

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        self._inner.start(lambda data: None if self._is_lost() else on_bytes(data), on_lost)

    def write(self, data: bytes) -> None:
        if not self._is_lost():
            self._inner.write(data)

    def set_baud(self, baud: int) -> None:
        self._inner.set_baud(baud)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _is_lost(self) -> bool:
        return self._chance.random() < self.share


class CutSerialPort:
    """Passes so many more bytes to the board, and then the agent's end is gone."""

    def __init__(self, inner: SerialPort) -> None:
        self.path = inner.path
        self.rates = inner.rates
        self.bytes_left: int | None = None
        self._inner = inner
        self._on_lost: OnLost | None = None

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        self._on_lost = on_lost
        self._inner.start(on_bytes, on_lost)

    def write(self, data: bytes) -> None:
        if self.bytes_left is None:
            self._inner.write(data)
            return
        self._inner.write(data[: self.bytes_left])
        self.bytes_left = 0
        assert self._on_lost is not None
        asyncio.get_running_loop().call_soon(self._on_lost, f"{self.path} was unplugged")

    def set_baud(self, baud: int) -> None:
        self._inner.set_baud(baud)

    async def aclose(self) -> None:
        await self._inner.aclose()


class SpoiledPorts(SerialPorts):
    """The machine's own ports, each opened through `spoil`."""

    def __init__(
        self, settings: BoardSettings, spoil: type[LossySerialPort] | type[CutSerialPort]
    ) -> None:
        super().__init__(settings, SystemClock())
        self.opened: list[LossySerialPort | CutSerialPort] = []
        self._spoil = spoil

    async def open(self, path: str) -> LossySerialPort | CutSerialPort:
        port = await super().open(path)
        assert isinstance(port, SerialPort)
        self.opened.append(self._spoil(port))
        return self.opened[-1]
