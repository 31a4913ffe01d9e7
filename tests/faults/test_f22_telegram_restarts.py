"""F22: a restart at any place neither repeats nor loses a message of Telegram."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.fakes import telegram_server
from tests.fakes.clock import StandingClock
from tests.fakes.left_behind import all_confirmed, confirmed
from tests.fakes.lives import Life, Lives, lives_of
from tests.fakes.telegram_agent import STEPS
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA, BEN
from tests.waits import wait_until

KILLS = 50
# A life is over by the time it has called this often: start, poll, a message and a poll again
MOST_CALLS = 12
# Within what a call and its answer take
LITTLE_S = 0.02
# Nothing is with the platform before the first message has come here
UNSENT = ("polled", "committed", "thinking", "sending")


class Restarts:
    """An agent that is killed and begins again, held to what its journal said at each kill.

    An answer may come once more after a kill only where the platform had it and the journal did
    not say so yet.
    """

    def __init__(self, server: TelegramServer, lives: Lives, folder: Path) -> None:
        self.server = server
        self._lives = lives
        self._folder = folder

    @contextlib.asynccontextmanager
    async def life(self, step: str = "") -> AsyncIterator[Life]:
        before, known = self.shown(), confirmed(self._folder)
        assert known <= set(before)
        where = (self.server.base_url, self.server.token, str(self._folder), step)
        async with self._lives.begin(*where) as life:
            yield life
        await self.server.drained()
        came = self.shown() - before
        assert not known & set(came)
        assert set(came.values()) <= {1}

    def shown(self) -> Counter[str]:
        return Counter(self.server.world.shown(ANNA) + self.server.world.shown(BEN))

    async def answered(self, chat: int, *texts: str) -> None:
        """Until all of them are with the platform, and known to be."""
        wanted = {f"echo: {text}" for text in texts}
        await wait_until(lambda: wanted <= set(self.server.world.shown(chat)))
        await wait_until(lambda: all_confirmed(self._folder, wanted))


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    with lives_of("tests.fakes.telegram_agent") as lives:
        yield lives


@pytest.fixture
async def restarts(lives: Lives, tmp_path: Path) -> AsyncIterator[Restarts]:
    async with telegram_server.running() as server:
        # In the agent's own time: nothing is a day late
        server.world.now_s = StandingClock().wall_s()
        yield Restarts(server, lives, tmp_path)


def _has_called(server: TelegramServer, calls: int) -> bool:
    return len(server.calls) >= calls


@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_at_any_step_loses_nothing_and_repeats_only_what_nobody_confirmed(
    step: str, restarts: Restarts
) -> None:
    world = restarts.server.world
    await world.write("one")
    await world.write("two")
    await world.write("from somebody else", BEN)
    async with restarts.life(step) as first:
        assert await first.ended() == 9
    if step in UNSENT:
        assert not restarts.shown()
    async with restarts.life():
        await restarts.answered(ANNA, "one", "two")
        await restarts.answered(BEN, "from somebody else")
    async with restarts.life():
        await world.write("after it")
        await restarts.answered(ANNA, "after it")
    in_order = list(dict.fromkeys(world.shown(ANNA)))
    assert in_order == ["echo: one", "echo: two", "echo: after it"]


@pytest.mark.timeout(240)
async def test_kills_at_any_time_leave_every_message_answered(restarts: Restarts) -> None:
    chance = random.Random(22)
    server = restarts.server
    texts: dict[int, list[str]] = {ANNA: [], BEN: []}
    for number in range(KILLS):
        chat = chance.choice([ANNA, BEN])
        texts[chat].append(f"message {number}")
        await server.world.write(texts[chat][-1], chat)
        async with restarts.life():
            last = len(server.calls) + chance.randint(1, MOST_CALLS)
            await wait_until(partial(_has_called, server, last))
            await asyncio.sleep(chance.uniform(0, LITTLE_S))
    async with restarts.life():
        for chat, written in texts.items():
            await restarts.answered(chat, *written)
    async with restarts.life():
        await server.world.write("the last")
        await restarts.answered(ANNA, "the last")
    for chat, written in texts.items():
        in_order = [text for text in dict.fromkeys(server.world.shown(chat)) if "last" not in text]
        assert in_order == [f"echo: {text}" for text in written]


async def test_an_update_that_comes_again_is_answered_once(restarts: Restarts) -> None:
    world = restarts.server.world
    await world.write("once")
    again = list(world.updates)
    async with restarts.life():
        await restarts.answered(ANNA, "once")
        async with world.changed:
            world.updates.extend(again)
            world.changed.notify_all()
        await world.write("next")
        await restarts.answered(ANNA, "next")
    assert world.shown(ANNA) == ["echo: once", "echo: next"]


async def test_an_edited_message_is_no_new_command(restarts: Restarts) -> None:
    world = restarts.server.world
    message = await world.write("lamp off")
    async with restarts.life():
        await restarts.answered(ANNA, "lamp off")
        await world.push("edited_message", message | {"text": "lamp on"})
        await world.write("next")
        await restarts.answered(ANNA, "next")
    assert world.shown(ANNA) == ["echo: lamp off", "echo: next"]


async def test_what_was_written_long_ago_is_told_and_not_done(restarts: Restarts) -> None:
    world = restarts.server.world
    world.now_s -= 3600
    await world.write("lamp on")
    world.now_s += 3600
    async with restarts.life():
        await wait_until(lambda: bool(world.shown(ANNA)))
        await world.write("next")
        await restarts.answered(ANNA, "next")
    told, following = world.shown(ANNA)
    assert "lamp on" in told
    assert not told.startswith("echo: ")
    assert following == "echo: next"
