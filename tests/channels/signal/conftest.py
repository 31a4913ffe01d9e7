"""A channel before a pretended daemon, and what it heard."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.channels.context import ChannelContext
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import SignalSettings
from agent.channels.signal.channel import SignalChannel
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.signal_daemon import SignalDaemon, running
from tests.waits import PATIENCE_S


@dataclass(slots=True)
class Heard:
    """What was delivered, in order."""

    messages: list[Inbound] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def deliver(self, inbound: Inbound) -> None:
        self.messages.append(inbound)
        self._changed.set()

    async def until(self, count: int) -> list[Inbound]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.messages) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.messages

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]


@dataclass(slots=True)
class Signal:
    """The daemon, the channel that listens to it, and what was heard."""

    daemon: SignalDaemon
    channel: SignalChannel
    heard: Heard
    inbox: Path
    listening: "asyncio.Task[None] | None" = None

    def listen(self) -> "asyncio.Task[None]":
        self.listening = asyncio.create_task(self.channel.listen(self.heard.deliver))
        return self.listening


Make = Callable[..., contextlib.AbstractAsyncContextManager[Signal]]


@pytest.fixture
def signal(tmp_path: Path) -> Make:
    """Makes one; it listens unless it is told not to."""

    @contextlib.asynccontextmanager
    async def make(
        daemon: SignalDaemon | None = None,
        *,
        clock: Clock | None = None,
        is_listening: bool = True,
        knows: bool = True,
        **settings: object,
    ) -> AsyncIterator[Signal]:
        http = HttpClient()
        async with running(daemon or SignalDaemon()) as there:
            wanted = SignalSettings(base_url=there.url, **settings)  # type: ignore[arg-type]  # keys of the section
            place = ChannelContext(
                tmp_path / "signal", ReceivedFiles(tmp_path / "inbox"), lambda _: knows
            )
            channel = SignalChannel(wanted, place, http, clock or SystemClock())
            made = Signal(there, channel, Heard(), tmp_path / "inbox")
            try:
                if is_listening:
                    made.listen()
                    await there.until_listened()
                yield made
            finally:
                if made.listening is not None:
                    made.listening.cancel()
                    await asyncio.wait([made.listening])
                await channel.aclose()
                await http.aclose()

    return make
