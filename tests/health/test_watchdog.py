import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from agent.channels.base import Channel
from agent.errors import StorageFull
from agent.health import watchdog
from agent.health.status import AgentStatus, BoardReport, ChannelReport
from agent.health.systemd_notify import SystemdNotifier
from agent.health.watchdog import DEAF_GRACE_S, Vitals, Watchdog
from agent.link.base import BoardState
from agent.messaging.channel_supervisor import DEAF_S, ChannelHealth, Supervisor
from agent.system.activity import Activity
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.listening import ClosedTerminal, DeafListener
from tests.fakes.service_manager import ServiceManager
from tests.waits import PATIENCE_S

STATUS = AgentStatus(
    pid=1,
    start_ticks=1,
    since_s=0.0,
    provider="offline",
    boards=(BoardReport(state="absent", trouble="nothing is plugged in"),),
    channels=(ChannelReport("telegram", "the token is refused"),),
)


async def answers() -> None:
    """A storage that is well."""


async def stuck() -> None:
    """A storage on a dead disk."""
    await asyncio.Event().wait()


def failing(error: Exception) -> Callable[[], Awaitable[None]]:
    async def fail() -> None:
        raise error

    return fail


class World:
    """What a pass looks at, all well; a test breaks one thing."""

    def __init__(self, manager: ServiceManager, *channels: Channel) -> None:
        self.clock = SteppedClock()
        self.manager = manager
        self.board = FakeBoard()
        self.supervisors = [self.supervised(one) for one in channels]
        self.vitals = Vitals(answers, [self.board], self.supervisors, lambda: STATUS)

    def supervised(self, channel: Channel) -> Supervisor:
        return Supervisor(channel, self.clock, Activity(), self._tell)

    def notifying(self) -> Watchdog:
        return Watchdog(SystemdNotifier(self.manager.environ), self.vitals, self.clock, 0.01)

    async def _tell(self, channel: str, text: str) -> None:
        """Nobody is there."""


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[ServiceManager]:
    with ServiceManager(tmp_path / "s", watchdog_s=0.6) as listening:
        yield listening


@pytest.fixture
def world(manager: ServiceManager) -> World:
    return World(manager)


async def running(world: World, until: Callable[[], bool]) -> None:
    task = asyncio.ensure_future(world.notifying().run())
    async with asyncio.timeout(PATIENCE_S):
        while not until() and not task.done():  # noqa: ASYNC110 - what is awaited is not of asyncio
            await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_readiness_comes_first_and_good_news_after_it(world: World) -> None:
    heard: list[str] = []

    def has_news() -> bool:
        heard.extend(world.manager.news())
        return "WATCHDOG=1" in heard

    await running(world, has_news)
    assert heard[0] == "READY=1"
    assert heard[1] == "STATUS=board: absent (nothing is plugged in); model: offline"


async def test_nobody_is_told_where_nobody_asks(world: World) -> None:
    notifying = Watchdog(SystemdNotifier({}), replace(world.vitals, storage=stuck), world.clock)
    async with asyncio.timeout(1):
        await notifying.run()


async def test_a_slow_start_asks_for_time(world: World) -> None:
    done = asyncio.Event()

    async def migrates() -> None:
        await done.wait()

    world.vitals = replace(world.vitals, storage=migrates)
    heard: list[str] = []

    def has_asked_twice() -> bool:
        heard.extend(world.manager.news())
        asked = heard.count("EXTEND_TIMEOUT_USEC=60000000")
        if asked >= 2:
            done.set()
        return "READY=1" in heard

    await running(world, has_asked_twice)
    assert heard.index("READY=1") > heard.index("EXTEND_TIMEOUT_USEC=60000000")


async def test_a_full_disk_is_no_reason_for_a_restart(world: World) -> None:
    world.vitals = replace(world.vitals, storage=failing(StorageFull("no room")))
    assert await world.notifying().look()
    heard: list[str] = []

    def is_ready() -> bool:
        heard.extend(world.manager.news())
        return "READY=1" in heard

    await running(world, is_ready)


@pytest.mark.parametrize("storage", [stuck, failing(sqlite3.OperationalError("locked"))])
async def test_a_storage_that_does_not_answer_is_no_good_news(
    world: World, storage: Callable[[], Awaitable[None]]
) -> None:
    world.vitals = replace(world.vitals, storage=storage)
    assert not await world.notifying().look()
    assert "WATCHDOG=1" not in world.manager.news()


async def test_a_link_that_claims_to_be_ready_and_hears_nothing_is_no_good_news(
    world: World,
) -> None:
    told = world.notifying()
    assert await told.look()
    assert not await told.look()
    world.board.counters.frames_received += 1
    assert await told.look()
    world.board.plugged_in = False
    assert await told.look()
    assert await told.look()


async def test_a_link_that_nobody_looks_after_is_no_good_news(world: World) -> None:
    class Abandoned(FakeBoard):
        @property
        def status(self):  # type: ignore[no-untyped-def]  # as the fake's
            return replace(super().status, state=BoardState.CLOSED)

    world.vitals = replace(world.vitals, boards=[Abandoned()])
    told = world.notifying()
    assert not await told.look()
    told.stopping()
    assert await told.look()


async def test_a_channel_that_stays_deaf_after_it_was_begun_anew_is_no_good_news(
    manager: ServiceManager,
) -> None:
    clock = SteppedClock()
    channel = DeafListener(clock, heals_at=1)
    world = World(manager, channel)
    world.board.plugged_in = False
    (supervisor,) = world.supervisors
    told = world.notifying()
    supervisor.hearing = ChannelHealth.LISTENING
    assert await told.look()
    supervisor.hearing = ChannelHealth.DEAF
    assert await told.look()
    world.clock.advance(DEAF_GRACE_S)
    assert not await told.look()
    supervisor.hearing = ChannelHealth.LISTENING
    assert await told.look()


async def test_a_channel_that_was_never_heard_would_not_be_better_in_another_life(
    manager: ServiceManager,
) -> None:
    world = World(manager, DeafListener(SteppedClock(), heals_at=9))
    world.board.plugged_in = False
    world.supervisors[0].hearing = ChannelHealth.DEAF
    told = world.notifying()
    assert await told.look()
    world.clock.advance(DEAF_S + DEAF_GRACE_S)
    assert await told.look()


@pytest.mark.parametrize(
    "hearing", [ChannelHealth.AWAY, ChannelHealth.REFUSED, ChannelHealth.LISTENING]
)
async def test_what_is_down_and_said_to_be_is_good_news(
    manager: ServiceManager, hearing: ChannelHealth
) -> None:
    world = World(manager, DeafListener(SteppedClock(), heals_at=1))
    world.supervisors[0].hearing = hearing
    assert await world.notifying().look()
    said = manager.news()
    assert said[0].endswith("; telegram: the token is refused; model: offline")
    assert said[1] == "WATCHDOG=1"


async def test_readiness_waits_for_a_channel_but_not_for_ever(manager: ServiceManager) -> None:
    world = World(manager, DeafListener(SteppedClock(), heals_at=1), ClosedTerminal())
    heard: list[str] = []

    def is_ready() -> bool:
        heard.extend(manager.news())
        return "READY=1" in heard

    await running(world, is_ready)
    assert world.clock.monotonic_s() >= watchdog.READY_PATIENCE_S


async def test_the_status_is_told_when_it_changes(world: World) -> None:
    told = world.notifying()
    await told.look()
    world.board.plugged_in = False
    await told.look()
    assert [one for one in world.manager.news() if one.startswith("STATUS=")] == [
        "STATUS=board: absent (nothing is plugged in); model: offline"
    ]


async def test_a_card_that_takes_nothing_any_more_is_in_the_status(world: World) -> None:
    sentence = "storage is read-only since yesterday"
    status = msgspec.structs.replace(STATUS, storage=sentence)
    world.vitals = replace(world.vitals, status=lambda: status)
    await world.notifying().look()
    told = [one for one in world.manager.news() if one.startswith("STATUS=")]
    assert told == [f"STATUS={sentence}; board: absent (nothing is plugged in); model: offline"]


async def test_the_end_is_the_last_that_is_said_of_the_status(world: World) -> None:
    told = world.notifying()
    told.stopping()
    await told.look()
    assert world.manager.news() == [
        *("STOPPING=1", "STATUS=Stopping: switching outputs to their safe values"),
        "WATCHDOG=1",
    ]
