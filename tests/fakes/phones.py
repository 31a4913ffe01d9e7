"""Anna's phone on each platform, as a test sees it that does not care which one it is."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.channels.signal.cursor import SignalCursor
from agent.system.clock import SystemClock
from tests.fakes import signal_daemon, signal_events, telegram_server, telegram_world
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_faults import Fails
from tests.fakes.telegram_server import Fault, TelegramServer


class Phone(ABC):
    """What is written on it arrives at the agent's account; `shown` is what has come back.

    Args:
        config: what the agent is told of the platform.
    """

    account: PersonAccount
    config: str

    async def join(self, state: Path) -> None:
        """Be the owner of the agent with that state, for which nothing is new to the platform."""
        PeopleStore(state / "people.json", SystemClock()).let_in(PersonRole.OWNER, self.account)

    @abstractmethod
    async def write(self, text: str) -> None: ...

    @abstractmethod
    def shown(self) -> list[str]: ...

    @abstractmethod
    def refuse_one(self) -> None:
        """Let the platform refuse the next message for good."""


class TelegramPhone(Phone):
    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._world = server.world
        anna = str(telegram_world.ANNA)
        self.account = PersonAccount(channel="telegram", sender=anna, target=anna)
        self.config = (
            f'[channels.telegram]\nbase_url = "{server.base_url}"\ntoken = "{server.token}"\n'
        )

    async def write(self, text: str) -> None:
        await self._world.write(text)

    def shown(self) -> list[str]:
        return self._world.shown()

    def refuse_one(self) -> None:
        self._server.faults.append(Fault("sendMessage", refuses="Bad Request: CHAT_RESTRICTED"))


class SignalPhone(Phone):
    """Behind a daemon that numbers its events, so that what a killed agent had read comes again."""

    def __init__(self, daemon: SignalDaemon) -> None:
        self._daemon = daemon
        anna = signal_events.ANNA
        self.account = PersonAccount(channel="signal", sender=anna, target=anna)
        self.config = f'[channels.signal]\nbase_url = "{daemon.url}"\n'
        self._sent_ms = time.time_ns() // 1_000_000

    async def join(self, state: Path) -> None:
        await super().join(state)
        # Without a position nothing comes of what was there before the agent
        await self.write("long ago")
        position = SignalCursor(state / "signal" / "position.json")
        await position.load(signal_daemon.NUMBER)
        await position.advance("1")

    async def write(self, text: str) -> None:
        self._sent_ms += 1
        self._daemon.tell(signal_events.message(text, timestamp=self._sent_ms))

    def shown(self) -> list[str]:
        return [one.text for one in self._daemon.shown(signal_events.ANNA)]

    def refuse_one(self) -> None:
        self._daemon.fail("send", Fails(-1, results=({"type": "UNREGISTERED_FAILURE"},)))


@contextlib.asynccontextmanager
async def on_telegram() -> AsyncIterator[Phone]:
    async with telegram_server.running() as server:
        yield TelegramPhone(server)


@contextlib.asynccontextmanager
async def on_signal() -> AsyncIterator[Phone]:
    async with signal_daemon.running(SignalDaemon(numbers_events=True)) as daemon:
        yield SignalPhone(daemon)


PHONES: dict[str, Callable[[], AbstractAsyncContextManager[Phone]]] = {
    "telegram": on_telegram,
    "signal": on_signal,
}
