"""Signs of life for the service manager, sent only after a full check of the running parts.

A pass runs on the agent's own loop and asks the storage, every link and every channel. What is
down and said to be down is no reason for a restart; what stands still is. Promises nothing about
the world: no network, no board and a full disk are all good news.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from agent.errors import StorageFull
from agent.health.report import board_sentence
from agent.health.status import AgentStatus
from agent.health.systemd_notify import SystemdNotifier
from agent.link.base import Board, BoardState
from agent.messaging.channel_supervisor import ChannelHealth, Supervisor
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Of the time that is given: one pass may come to nothing and the next is still in time
PASSES_IN_TIME = 3
# A commit of a card that is worn takes seconds; what takes longer is stuck
STORAGE_TIMEOUT_S = 8.0
# A board that is plugged in has answered by then, and a platform was heard or found away
READY_PATIENCE_S = 15.0
READY_LOOK_S = 0.1
# Asked for again and again while a database is brought to a new form
EXTENSION_S = 60.0
# Longer than the form of any database takes to change: whoever is not done then is stuck
MIGRATION_LIMIT_S = 1800.0
# A deaf channel that listens anew is heard within this, or the new try has failed as well
DEAF_GRACE_S = 20.0


class Vitals(Struct, frozen=True):
    """Vital parts that the watchdog depends on.

    Args:
        storage: comes back when the storage has answered.
        supervisors: look after the channels.
        status: how the agent is.
    """

    storage: Callable[[], Awaitable[object]]
    boards: Sequence[Board]
    supervisors: Sequence[Supervisor]
    status: Callable[[], AgentStatus]


class Watchdog:
    """Tells systemd when the agent is ready, its state, that it is alive, and that it stops."""

    def __init__(
        self,
        notify: SystemdNotifier,
        vitals: Vitals,
        clock: Clock,
        extend_every_s: float = EXTENSION_S / 2,
    ) -> None:
        self._notify = notify
        self._vitals = vitals
        self._clock = clock
        self._extend_every_s = extend_every_s
        self._is_stopping = False
        self._told = ""
        # Frames of each board at the pass before; None while it was not ready
        self._frames: dict[str, int | None] = {}
        # Channels that were heard in this life: only for them may another one be better
        self._was_heard: set[str] = set()
        self._deaf_since_s: dict[str, float] = {}

    async def run(self) -> None:
        """Notify until cancelled."""
        if not self._notify.is_wanted:
            return
        await self._storage_opened()
        await self._settled()
        self._notify.send("READY=1", self._status_line())
        while True:
            await self.look()
            await self._clock.sleep(self._notify.watchdog_s / PASSES_IN_TIME)

    async def look(self) -> bool:
        """Check everything once; return true, and send a sign of life, if all is well."""
        reasons = [
            *await self._of_storage(),
            *self._of_links(),
            *self._of_channels(),
        ]
        for reason in reasons:
            _log.error("watchdog: sign of life withheld (reason=%s)", reason)
        if not self._is_stopping and (line := self._status_line()) != self._told:
            self._told = line
            self._notify.send(line)
        if not reasons:
            self._notify.send("WATCHDOG=1")
        return not reasons

    def stopping(self) -> None:
        """Announce the stop; no status follows it."""
        self._is_stopping = True
        self._notify.send("STOPPING=1", "STATUS=Stopping: switching outputs to their safe values")

    async def _storage_opened(self) -> None:
        """Wait for the first answer of the storage; it may migrate its databases first."""
        opening = asyncio.ensure_future(self._vitals.storage())
        until_s = self._clock.monotonic_s() + MIGRATION_LIMIT_S
        try:
            await asyncio.wait({opening}, timeout=READY_LOOK_S)
            while not opening.done() and self._clock.monotonic_s() < until_s:
                self._notify.send(
                    f"EXTEND_TIMEOUT_USEC={EXTENSION_S * 1_000_000:.0f}",
                    "STATUS=Starting: opening the storage",
                )
                await asyncio.wait({opening}, timeout=self._extend_every_s)
            await opening
        except StorageFull as err:
            _log.warning("start: storage is full (error=%s)", err)
        finally:
            opening.cancel()

    async def _settled(self) -> None:
        """Wait until boards and channels are connected or have failed."""
        until_s = self._clock.monotonic_s() + READY_PATIENCE_S
        while self._clock.monotonic_s() < until_s:
            greeted = all(
                board.status.state is not BoardState.CONNECTING for board in self._vitals.boards
            )
            listening = all(
                one.hearing is not ChannelHealth.IDLE or one.channel.abilities.is_local
                for one in self._vitals.supervisors
            )
            if greeted and listening:
                return
            await self._clock.sleep(READY_LOOK_S)

    async def _of_storage(self) -> list[str]:
        try:
            async with asyncio.timeout(min(STORAGE_TIMEOUT_S, self._notify.watchdog_s / 2)):
                await self._vitals.storage()
        except TimeoutError:
            return ["the storage does not answer"]
        except StorageFull:
            # It has answered, and a restart makes no room
            return []
        except sqlite3.Error as err:
            return [f"the storage fails: {err}"]
        return []

    def _of_links(self) -> list[str]:
        """Return the boards whose link is stuck: ready, but without a frame since the last pass."""
        reasons = []
        for board in self._vitals.boards:
            state = board.status.state
            before = self._frames.get(board.name)
            now = board.counters.frames_received if state is BoardState.READY else None
            self._frames[board.name] = now
            if state is BoardState.CLOSED and not self._is_stopping:
                reasons.append(f"the task of {board.name} has ended")
            elif now is not None and now == before:
                reasons.append(f"no frames from {board.name} since the last check")
        return reasons

    def _of_channels(self) -> list[str]:
        now_s = self._clock.monotonic_s()
        reasons = []
        for one in self._vitals.supervisors:
            name = one.channel.name
            if one.is_healthy():
                self._deaf_since_s.pop(name, None)
                if one.hearing is ChannelHealth.LISTENING:
                    self._was_heard.add(name)
            elif name in self._was_heard:
                since_s = self._deaf_since_s.setdefault(name, now_s)
                if now_s - since_s >= DEAF_GRACE_S:
                    reasons.append(f"{name} is disconnected, and reconnecting failed")
        return reasons

    def _status_line(self) -> str:
        """Return the line for `systemctl status`."""
        status = self._vitals.status()
        said = [f"stopped ({status.stopped})"] if status.stopped else []
        said += [status.storage] if status.storage else []
        said += [f"{board.name}: {board_sentence(board)}" for board in status.every_board]
        troubles = {channel.name: channel.trouble for channel in status.channels}
        said += [
            f"{name}: {troubles.get(name) or one.hearing.value}"
            for one in self._vitals.supervisors
            if not one.channel.abilities.is_local
            for name in [one.channel.name]
        ]
        return f"STATUS={'; '.join([*said, f'model: {status.provider}'])}"
