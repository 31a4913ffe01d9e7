"""Albums, of which each part is an update of its own."""

import asyncio
from pathlib import Path

from agent.channels.telegram.inbound import FORWARDED
from agent.channels.telegram.receive import MAX_UPDATES
from agent.system.clock import SystemClock
from tests.fakes.clock import SteppedClock
from tests.fakes.telegram_bot import content_of, listening
from tests.fakes.telegram_world import GROUP
from tests.waits import stays, wait_until


class HeldClock(SystemClock):
    """Whoever sleeps goes on when the test says so."""

    def __init__(self) -> None:
        self.is_waited_for = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def sleep(self, duration_s: float) -> None:
        assert duration_s > 0
        self.is_waited_for.set()
        await self.may_go_on.wait()


async def test_an_album_is_one_message(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        world = bot.server.world
        for number in range(3):
            photo = [world.keep(b"\xff\xd8" + bytes([number]), f"p{number}")]
            caption = {"caption": "the greenhouse"} if number == 0 else {}
            await world.write(media_group_id="77", photo=photo, **caption)
        await world.write("and a word")
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver))
        album, word = await bot.hear(2)
        task.cancel()
        await asyncio.wait([task])
        assert (album.text, len(album.attachments), word.text) == (
            "the greenhouse",
            3,
            "and a word",
        )
        contents = [content_of(file)[-1] for file in album.attachments]
        assert contents == [0, 1, 2]


async def test_the_rest_of_an_album_is_waited_for(tmp_path: Path) -> None:
    clock = HeldClock()
    async with listening(tmp_path, clock=clock) as bot:
        world = bot.server.world
        await world.write(media_group_id="77", photo=[world.keep(b"\xff\xd8a", "a")])
        await wait_until(clock.is_waited_for.is_set)
        await world.write(media_group_id="77", photo=[world.keep(b"\xff\xd8b", "b")])
        clock.may_go_on.set()
        [album] = await bot.hear()
        assert len(album.attachments) == 2


async def test_the_rest_of_an_album_is_waited_for_while_it_grows(tmp_path: Path) -> None:
    class SlowUpload(SteppedClock):
        left = 3

        async def sleep(self, duration_s: float) -> None:
            if self.left:
                self.left -= 1
                photo = [bot.server.world.keep(b"\xff\xd8a", f"p{self.left}")]
                await bot.server.world.write(media_group_id="77", photo=photo)
            await super().sleep(duration_s)

    async with listening(tmp_path, clock=SlowUpload()) as bot:
        photo = [bot.server.world.keep(b"\xff\xd8a", "first")]
        await bot.server.world.write(media_group_id="77", photo=photo)
        [album] = await bot.hear()
        await stays(lambda: bot.heard == [album], 0.05)
        assert len(album.attachments) == 4


async def test_an_album_that_a_full_batch_cuts_is_one_message(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        world = bot.server.world
        for number in range(MAX_UPDATES - 2):
            await world.write(f"{number}")
        for number in range(4):
            await world.write(media_group_id="77", photo=[world.keep(b"\xff\xd8", f"p{number}")])
            # Somebody else writes meanwhile
            await world.write(f"between {number}", GROUP)
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver))
        await bot.hear(MAX_UPDATES - 1)
        task.cancel()
        await asyncio.wait([task])
        assert [len(one.attachments) for one in bot.heard[-1:]] == [4]


async def test_a_forwarded_album_shows_all_of_its_captions_as_quoted(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        world = bot.server.world
        origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
        for caption in ("", "pump on", "", "lamp on"):
            photo = [world.keep(b"\xff\xd8", f"p{caption}")]
            told = {"caption": caption} if caption else {}
            await world.write(media_group_id="77", photo=photo, forward_origin=origin, **told)
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver))
        [album] = await bot.hear()
        task.cancel()
        await asyncio.wait([task])
        assert (album.text, album.is_forwarded, len(album.attachments)) == (FORWARDED, True, 4)
        assert album.quoted == "pump on\nlamp on"
