import asyncio
import itertools
import logging
from collections.abc import Sequence

import pytest

from agent.channels.base import Channel
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.messages import Inbound
from agent.messaging.channel_supervisor import DEAF_S, ChannelHealth, Supervisor, is_healthy
from agent.system.activity import Activity
from agent.system.clock import Clock
from tests.fakes.clock import SteppedClock
from tests.fakes.listening import ClosedTerminal, DeafListener, FailingListener


class _Kept:
    """A supervisor with what it told the owner."""

    def __init__(self, channel: Channel, clock: SteppedClock) -> None:
        self.told: list[tuple[str, str]] = []
        self.activity = Activity()
        self.supervisor = Supervisor(channel, clock, self.activity, self._tell, lambda: 1.0)

    async def _tell(self, channel: str, text: str) -> None:
        self.told.append((channel, text))


async def _nobody(_inbound: Inbound) -> None:
    raise AssertionError("nothing was said")


async def _until(kept: _Kept, event: asyncio.Event) -> None:
    running = asyncio.ensure_future(kept.supervisor.run(_nobody))
    await event.wait()
    # The watch looks again
    for _ in range(20):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])


def _waits(begun_s: Sequence[float]) -> list[float]:
    return [later - sooner for sooner, later in itertools.pairwise(begun_s)]


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def turned_clock(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    """Moves only when the channel or the supervisor's patience sleeps, not its look."""

    async def never(_clock: Clock, _at_most_s: float) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("agent.messaging.channel_supervisor.rest", never)
    return SteppedClock()


async def test_waits_grow_from_two_seconds_to_a_minute(turned_clock: SteppedClock) -> None:
    channel = FailingListener(turned_clock, [ChannelUnavailable("no network")] * 8)
    kept = _Kept(channel, turned_clock)
    await _until(kept, channel.is_over)
    assert _waits(channel.begun_s) == [2, 4, 8, 16, 32, 60, 60, 60]
    assert kept.told == []


async def test_the_same_trouble_is_logged_once_until_it_is_another(
    turned_clock: SteppedClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    away, other = ChannelUnavailable("no network"), ChannelUnavailable("no name server")
    channel = FailingListener(turned_clock, [away, away, away, other, other, away])
    kept = _Kept(channel, turned_clock)
    with caplog.at_level(logging.WARNING, logger="agent.messaging.channel_supervisor"):
        await _until(kept, channel.is_over)
    said = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert said == ["no network", "no name server", "no network"]


async def test_a_healthy_minute_makes_the_next_failure_a_first_one(
    turned_clock: SteppedClock,
) -> None:
    failures = [ChannelUnavailable("no network")] * 4
    channel = FailingListener(turned_clock, failures, [0.0, 0.0, 61.0, 59.0])
    kept = _Kept(channel, turned_clock)
    await _until(kept, channel.is_over)
    assert _waits(channel.begun_s) == [2, 4, 61 + 2, 59 + 4]


async def test_a_platform_that_names_a_wait_gets_it(turned_clock: SteppedClock) -> None:
    channel = FailingListener(turned_clock, [ChannelUnavailable("429", retry_after_s=37.0)])
    kept = _Kept(channel, turned_clock)
    await _until(kept, channel.is_over)
    assert _waits(channel.begun_s) == [37]


async def test_what_only_a_person_can_mend_is_told_once_and_tried_every_minute(
    turned_clock: SteppedClock,
) -> None:
    channel = FailingListener(turned_clock, [ChannelRefused("another program uses this bot")] * 3)
    kept = _Kept(channel, turned_clock)
    await _until(kept, channel.is_over)
    assert _waits(channel.begun_s) == [60, 60, 60]
    assert kept.told == [
        ("failing", "failing does not work until you fix this: another program uses this bot")
    ]


async def test_a_listener_that_breaks_or_just_stops_is_begun_again(
    turned_clock: SteppedClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    channel = FailingListener(turned_clock, [KeyError("x"), None])
    kept = _Kept(channel, turned_clock)
    with caplog.at_level(logging.WARNING):
        await _until(kept, channel.is_over)
    assert len(channel.begun_s) == 3
    assert [record.exc_info is not None for record in caplog.records] == [True, False]


async def test_a_deaf_channel_is_begun_anew_told_and_kept_from_good_news(
    clock: SteppedClock,
) -> None:
    channel = DeafListener(clock, heals_at=3)
    kept = _Kept(channel, clock)
    seen: list[tuple[ChannelHealth, bool, float]] = []
    kept.activity.listen(
        lambda: seen.append(
            (kept.supervisor.hearing, is_healthy([kept.supervisor]), clock.monotonic_s())
        )
    )
    await _until(kept, channel.is_healed)
    assert channel.begun == 3
    assert seen[0][:2] == (ChannelHealth.DEAF, False)
    # Noticed within one look
    assert DEAF_S < seen[0][2] <= DEAF_S + 5
    assert seen[-1][:2] == (ChannelHealth.LISTENING, True)
    assert kept.activity.troubles == {}
    (told,) = kept.told
    assert told == (
        "telegram",
        "telegram receives nothing: nothing was received for 90 s. I reconnect.",
    )


async def test_a_terminal_that_was_left_is_not_listened_to_again(clock: SteppedClock) -> None:
    kept = _Kept(ClosedTerminal(), clock)
    await kept.supervisor.run(_nobody)
    assert kept.supervisor.hearing is ChannelHealth.OVER
    assert kept.supervisor.is_healthy()


async def test_ending_a_supervisor_ends_the_listening() -> None:
    channel = DeafListener(SteppedClock(), heals_at=9)
    kept = _Kept(channel, SteppedClock())
    running = asyncio.ensure_future(kept.supervisor.run(_nobody))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert all(task is asyncio.current_task() for task in asyncio.all_tasks())


class _GappyListener(DeafListener):
    """Listens, and is let into no room."""

    gap = "cannot join #lab"


async def test_what_does_not_work_on_a_channel_that_listens_is_known(clock: SteppedClock) -> None:
    channel = _GappyListener(clock, 1)
    kept = _Kept(channel, clock)
    await _until(kept, channel.is_healed)
    assert kept.activity.trouble(channel.name) == "cannot join #lab"
    # It is no trouble with reaching people there
    assert kept.activity.deaf == set()
