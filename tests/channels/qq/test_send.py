import html
import re

from tests.channels.qq.conftest import World, begun
from tests.contracts.listener import answer, listening

CALLS = '@everyone <@!123> <@A1B2> <qqbot-at-everyone /> <qqbot-at-user id="7" /> a < b && c > d'


async def test_nobody_is_called_by_what_a_model_writes(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write_in_room("in a group")
        world.server.write_in_guild("in a guild")
        for one in await listener.first(2):
            await channel.send(answer(one, CALLS))
    in_group, in_guild = [one["content"] for one in world.server.messages]
    # A group shows every sign as it is, so that an escaped one would be seen
    assert in_group.replace("\u200b", "") == CALLS
    assert not re.search(r"<@|<qqbot|@everyone", in_group)
    # What a guild is told, it takes back as it shows it
    assert html.unescape(in_guild).replace("\u200b", "") == CALLS
    assert "<" not in in_guild
    assert "@everyone" not in in_guild
