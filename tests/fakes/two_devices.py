"""Two devices with their own ledgers, and a way between them that loses, repeats and delays."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.access.people import Person
from agent.config import Secret
from agent.devices.caller import DeviceCaller
from agent.devices.channel import DevicesChannel, OtherDevice
from agent.devices.host import DeviceHost, Loan, UseLent
from agent.devices.ledger import DeviceLedger
from agent.devices.wire import DeviceSeal
from agent.errors import ChannelUnavailable
from agent.gateway.assistants.mcp.hand import HandResult
from agent.messages import ToolResult
from agent.passage import own
from agent.system.clock import Clock, SystemClock
from tests.fakes.board import FakeBoard

KEY = Secret("a-key-of-the-tests-that-nobody-guesses")
WRITE = ("board_gpio_write", '{"pin":"pump","value":"on"}')


class LossyPost:
    """A way that a test cuts, and that remembers what went over it."""

    def __init__(self) -> None:
        self.deliver: Callable[[bytes], None] = lambda _payload: None
        self.sent: list[bytes] = []
        self.is_cut = False
        # It goes out, and nobody gets it
        self.loses = False

    async def send(self, payload: bytes) -> None:
        if self.is_cut:
            raise ChannelUnavailable("cut")
        self.sent.append(payload)
        if not self.loses:
            self.deliver(payload)

    def close(self) -> None:
        """Keep what was sent."""


@dataclass
class Garden:
    """The far device: its pump is moved by `use`."""

    folder: Path
    clock: Clock
    back: LossyPost
    board: FakeBoard = field(default_factory=FakeBoard)
    loan: Loan = field(default_factory=lambda: Loan(frozenset({"pump"})))
    role: str = "user"
    used: list[UseLent] = field(default_factory=list)
    # A test holds the act open with it
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    refuses: bool = False

    def __post_init__(self) -> None:
        self.may_end.set()
        self.start()

    def start(self) -> None:
        self.ledger = DeviceLedger(self.folder / "far.db", self.clock)
        person = Person(person_id="kitchen", name="kitchen", role=self.role or "user")
        self.host = DeviceHost(
            {"kitchen": self.loan},
            [self.board],
            self.ledger,
            self._use,
            lambda name: person if self.role and name == "kitchen" else None,
            self.clock,
        )
        seal = DeviceSeal("garden", "kitchen", KEY)
        caller = DeviceCaller(seal, self.back, self.ledger, self.clock)
        self.channel = DevicesChannel(
            {"kitchen": OtherDevice(seal, caller)}, self.host, self.clock, _nobody
        )

    async def stop(self) -> None:
        """Cut the power: what is at work ends in the middle."""
        await self.channel.aclose()
        await self.ledger.aclose()

    async def restart(self) -> None:
        await self.stop()
        self.start()

    def heard(self, payload: bytes) -> None:
        self.channel.heard("kitchen", payload, self.back.send)

    async def _use(self, wanted: UseLent) -> HandResult:
        self.used.append(wanted)
        await self.may_end.wait()
        if self.refuses:
            return HandResult(ToolResult.failed(own("the owner said no")), (), "turn")
        return HandResult(ToolResult.done(own('{{"pin":"pump","value":"on"}}')), (), "turn")


@dataclass
class Kitchen:
    """The near device."""

    folder: Path
    clock: Clock
    there: LossyPost
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.ledger = DeviceLedger(self.folder / "near.db", self.clock)
        seal = DeviceSeal("kitchen", "garden", KEY)
        self.caller = DeviceCaller(seal, self.there, self.ledger, self.clock)

    async def restart(self) -> None:
        await self.ledger.aclose()
        self.start()

    async def tell(self, text: str) -> None:
        self.told.append(text)


@dataclass
class TwoDevices:
    """Both, and the two ways."""

    kitchen: Kitchen
    garden: Garden

    @property
    def there(self) -> LossyPost:
        return self.kitchen.there

    @property
    def back(self) -> LossyPost:
        return self.garden.back


@asynccontextmanager
async def two_devices(folder: Path, clock: Clock | None = None) -> AsyncIterator[TwoDevices]:
    """A kitchen that asks, and a garden that lends its pump."""
    clock = clock or SystemClock()
    there, back = LossyPost(), LossyPost()
    garden, kitchen = Garden(folder, clock, back), Kitchen(folder, clock, there)
    there.deliver = garden.heard
    seal = DeviceSeal("kitchen", "garden", KEY)

    def answered(payload: bytes) -> None:
        if (reply := seal.opened(payload).reply) is not None:
            kitchen.caller.heard(reply)

    back.deliver = answered
    try:
        yield TwoDevices(kitchen, garden)
    finally:
        await garden.stop()
        await kitchen.ledger.aclose()


async def _nobody(_text: str) -> None:
    """Tell nobody: the far owner has nothing to hear of it."""
