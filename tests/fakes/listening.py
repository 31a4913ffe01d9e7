"""Channels that listen in one way or another, each named after what goes wrong with it."""

import asyncio
from collections.abc import Sequence

from agent.channels.base import Abilities, Deliver, Pulse
from agent.system.clock import Clock
from tests.fakes.channel import FakeChannel


class FailingListener(FakeChannel):
    """Its listening ends in one error after the other; after `healthy_s`, and then for good."""

    name = "failing"

    def __init__(
        self, clock: Clock, failures: Sequence[Exception | None], healthy_s: Sequence[float] = ()
    ) -> None:
        super().__init__()
        self.begun_s: list[float] = []
        self.is_over = asyncio.Event()
        self._clock = clock
        self._failures = list(failures)
        self._healthy_s = list(healthy_s)

    async def listen(self, deliver: Deliver) -> None:
        self.begun_s.append(self._clock.monotonic_s())
        if self._healthy_s:
            await self._clock.sleep(self._healthy_s.pop(0))
        if not self._failures:
            self.is_over.set()
            await asyncio.Event().wait()
        failure = self._failures.pop(0)
        if failure is not None:
            raise failure


class DeafListener(FakeChannel):
    """Listens and hears nothing, until it has begun for the `heals_at`-th time."""

    name = "telegram"

    def __init__(self, clock: Clock, heals_at: int) -> None:
        super().__init__()
        self.pulse = Pulse(clock)
        self.begun = 0
        self.is_healed = asyncio.Event()
        self._clock = clock
        self._heals_at = heals_at

    async def listen(self, deliver: Deliver) -> None:
        self.begun += 1
        if self.begun < self._heals_at:
            await asyncio.Event().wait()
        while True:
            await self._clock.sleep(1.0)
            self.pulse.beat()
            self.is_healed.set()


class ClosedTerminal(FakeChannel):
    """Whoever wrote there has gone."""

    abilities = Abilities(is_local=True)

    async def listen(self, deliver: Deliver) -> None:
        """Nobody can write any more."""
