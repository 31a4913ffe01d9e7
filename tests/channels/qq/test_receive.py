from tests.channels.qq.conftest import ME, World, begun
from tests.contracts.listener import answer, listening
from tests.fakes.qq_server import ANNA_IN_ROOM, ROOM

SOMEBODY = {"id": "2727", "member_openid": "2727", "is_you": False, "scope": "single"}


async def test_a_group_that_is_told_whole_is_heard_where_it_calls_the_bot(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write_in_open_room("nobody is called", mentions=None)
        world.server.write_in_open_room("<@2727> somebody else is", mentions=[SOMEBODY])
        world.server.write_in_open_room(" the mark is left out", mentions=[ME])
        world.server.write_in_open_room("<@42F7> the mark is there", mentions=[ME])
        world.server.write_in_open_room("<@2727> ask <@42F7>", mentions=[SOMEBODY, ME])
        heard = await listener.first(3)
        await channel.send(answer(heard[0], "Here."))
    assert [one.text for one in heard] == [
        "the mark is left out",
        "the mark is there",
        "<@2727> ask <@42F7>",
    ]
    assert {(one.sender, one.reply_target, one.is_group) for one in heard} == {
        (ANNA_IN_ROOM, f"group:{ROOM}", True)
    }
    assert [one["place"] for one in world.server.messages] == [f"groups/{ROOM}"]


async def test_a_stop_needs_no_name_where_a_group_is_told_whole(world: World) -> None:
    async with listening(world.channel()) as listener:
        await begun(world)
        world.server.write_in_open_room("/stop now", mentions=[])
        world.server.write_in_open_room("<@2727> /stop", mentions=[SOMEBODY])
        world.server.write_in_open_room("/stop")
        world.server.write_in_open_room(" /estop")
        heard = await listener.first(2)
    assert [one.text for one in heard] == ["/stop", "/estop"]
