"""Ports that lead to a peer in memory, each with the fault in its name.

A fault works in both directions and on whole writes, which are whole frames. Random faults
repeat themselves: every port has its own seed.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Protocol

from agent.errors import LinkLost
from agent.link.discovery import POLL_S, PortIdentity
from agent.link.port import OnBytes, OnLost
from agent.link.rate import Rates
from agent.system.clock import SystemClock

# A frame of 20 bytes at 115200 baud
LINE_DELAY_S = 0.002
BYTE_S = 10 / 115_200

Deliver = Callable[[bytes], None]


class Peer(Protocol):
    """What is at the other end of a fake port."""

    def attach(self, send: Deliver) -> None:
        """A port was opened: answers go to `send`."""

    def receive(self, data: bytes) -> None: ...


class FakePort:
    """A port without a fault; the base of those that have one."""

    rates = Rates()

    def __init__(self, peer: Peer, path: str = "/dev/fake-port", seed: int = 7) -> None:
        self.path = path
        self.chance = random.Random(seed)
        self.written: list[bytes] = []
        self.is_closed = False
        self._peer = peer
        self._on_bytes: OnBytes | None = None
        self._on_lost: OnLost | None = None

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._peer.attach(lambda data: self.carry(data, self._to_agent))

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self.carry(data, self._peer.receive)

    def set_baud(self, baud: int) -> None:
        """A port whose `rates` are not known is never asked to."""
        raise AssertionError(baud)

    async def aclose(self) -> None:
        self.is_closed = True
        self._on_bytes = self._on_lost = None

    def unplug(self) -> None:
        """The operating system says that the device is gone."""
        on_lost, self._on_bytes, self._on_lost = self._on_lost, None, None
        if on_lost is not None:
            on_lost(f"{self.path} was unplugged")

    def carry(self, data: bytes, deliver: Deliver) -> None:
        """Take one write to the other end; what a subclass makes worse."""
        self.later(LINE_DELAY_S, deliver, data)

    def later(self, delay_s: float, deliver: Deliver, data: bytes) -> None:
        asyncio.get_running_loop().call_later(delay_s, deliver, data)

    def _to_agent(self, data: bytes) -> None:
        if self._on_bytes is not None:
            self._on_bytes(data)


class LossyPort(FakePort):
    """Every fifth write never arrives."""

    share = 0.2

    def carry(self, data: bytes, deliver: Deliver) -> None:
        if self.chance.random() >= self.share:
            super().carry(data, deliver)


class DuplicatingPort(FakePort):
    """Every third write arrives twice, the second time late."""

    def carry(self, data: bytes, deliver: Deliver) -> None:
        super().carry(data, deliver)
        if self.chance.random() < 1 / 3:
            self.later(self.chance.uniform(1, 20) * LINE_DELAY_S, deliver, data)


class ReorderingPort(FakePort):
    """Every third write is overtaken by those after it."""

    def carry(self, data: bytes, deliver: Deliver) -> None:
        late = self.chance.random() < 1 / 3
        self.later((20 if late else 1) * LINE_DELAY_S, deliver, data)


class OneByteAtATimePort(FakePort):
    """Nothing arrives in one piece."""

    def __init__(self, peer: Peer, path: str = "/dev/fake-port", seed: int = 7) -> None:
        super().__init__(peer, path, seed)
        self._free_at_s: dict[Deliver, float] = {}

    def carry(self, data: bytes, deliver: Deliver) -> None:
        now_s = asyncio.get_running_loop().time()
        at_s = max(now_s, self._free_at_s.get(deliver, now_s))
        for at in range(len(data)):
            at_s += BYTE_S
            self.later(at_s - now_s, deliver, data[at : at + 1])
        self._free_at_s[deliver] = at_s


class NoisePort(FakePort):
    """Every fifth write has a flipped bit, and rubbish comes before every other."""

    def carry(self, data: bytes, deliver: Deliver) -> None:
        spoiled = bytearray(data)
        if self.chance.random() < 0.2:
            spoiled[self.chance.randrange(len(spoiled))] ^= 1 << self.chance.randrange(8)
        if self.chance.random() < 0.5:
            spoiled[:0] = self.chance.randbytes(self.chance.randrange(40))
        super().carry(bytes(spoiled), deliver)


class SlowPort(FakePort):
    """Everything takes a tenth of a second, sometimes twice that."""

    def carry(self, data: bytes, deliver: Deliver) -> None:
        self.later(self.chance.uniform(0.1, 0.2), deliver, data)


class StalledPort(FakePort):
    """Takes nothing and brings nothing once it is stalled."""

    is_stalled = False

    def carry(self, data: bytes, deliver: Deliver) -> None:
        if not self.is_stalled:
            super().carry(data, deliver)


class CutPort(FakePort):
    """The cable is pulled after so many bytes in both directions together."""

    bytes_left = 1_000_000

    def carry(self, data: bytes, deliver: Deliver) -> None:
        if self.bytes_left <= 0:
            return
        piece = data[: self.bytes_left]
        self.bytes_left -= len(piece)
        super().carry(piece, deliver)
        if self.bytes_left <= 0:
            asyncio.get_running_loop().call_later(2 * LINE_DELAY_S, self.unplug)


class EchoPeer:
    """A wire from the transmit pin to the receive pin."""

    def attach(self, send: Deliver) -> None:
        self._send = send

    def receive(self, data: bytes) -> None:
        self._send(data)


class TalkingPeer:
    """Says the same thing to whatever it is told; an empty text is silence."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def attach(self, send: Deliver) -> None:
        self._send = send

    def receive(self, data: bytes) -> None:
        if self.text:
            self._send(self.text)


class FakePorts:
    """A machine with one port, which may be missing, taken, or another device every time.

    Args:
        make: makes the port for each opening.
    """

    def __init__(self, make: Callable[[], FakePort], path: str = "/dev/fake-port") -> None:
        self.path = path
        self.is_there = True
        self.refusal = ""
        self.opened: list[FakePort] = []
        self._make = make
        self._plugged = 0

    async def find(self) -> str | None:
        return self.path if self.is_there else None

    def identity(self, path: str) -> PortIdentity | None:
        return (path, 0, 0, self._plugged) if self.is_there else None

    def missing(self) -> str:
        return f"{self.path} not found: is the board plugged in?"

    async def changed(self, at_most_s: float) -> None:
        await SystemClock().sleep(min(POLL_S, at_most_s))

    def close(self) -> None:
        """Nothing was opened to look for changes."""

    async def open(self, path: str) -> FakePort:
        if self.refusal or not self.is_there:
            raise LinkLost(self.refusal or self.missing())
        self.opened.append(self._make())
        return self.opened[-1]

    def unplug(self) -> None:
        self.is_there = False
        if self.opened:
            self.opened[-1].unplug()

    def plug_in(self) -> None:
        self.is_there = True
        self._plugged += 1
