"""People of one platform who write to the agent and count what it answers."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

from agent.access.people import PersonAccount
from tests.fakes.relay import Relay

ANSWER = "echo: "
# A line as slow as this still moves 60 KB/s or so: the pieces are small
PAUSE_S = 0.05


class Line:
    """A cable to a real server that can be pulled and slowed down."""

    def __init__(self, port: int) -> None:
        self.relay = Relay(port, self._wait)
        self._is_slow = asyncio.Event()

    @property
    def is_slow(self) -> bool:
        return self._is_slow.is_set()

    def slow_down(self, *, is_slow: bool) -> None:
        if is_slow:
            self._is_slow.set()
        else:
            self._is_slow.clear()

    async def _wait(self) -> None:
        if self._is_slow.is_set():
            await asyncio.sleep(PAUSE_S)


class Correspondents(ABC):
    """People at one server.

    Args:
        table: the agent's configuration of the platform.
        accounts: of the people, in their order.
        keeps: the server keeps what is written while the agent is away.
        share: of the messages, against the other platforms.
    """

    name: str
    table: str
    accounts: Sequence[PersonAccount]
    lines: Sequence[Line]
    keeps = True
    share = 4

    @abstractmethod
    async def ready(self) -> None:
        """Return when the agent is there for the first time: it takes nothing older."""

    @abstractmethod
    async def write(self, person: int, text: str) -> None:
        """Return when the platform has it."""

    @abstractmethod
    async def answers(self) -> Counter[str]:
        """Return how often each answer stands there by now."""

    def absences(self) -> int:
        """Return how often the agent was seen to go; 0 where the server keeps everything."""
        return 0

    def refuse_next(self) -> None:
        """Refuse the agent's next message as a busy server does, where this one never is busy."""

    def cut(self) -> None:
        for line in self.lines:
            line.relay.cut()

    def slow_down(self, *, is_slow: bool) -> None:
        for line in self.lines:
            line.slow_down(is_slow=is_slow)
