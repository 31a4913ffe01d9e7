import asyncio
import json
from pathlib import Path

import pytest

from agent.channels.command_words import COMMAND_WORDS
from agent.channels.settings import TelegramSettings
from agent.channels.telegram.inbound import EDITED, number_of
from agent.errors import ChannelRefused, ChannelUnavailable, StorageFull
from agent.messages import Inbound, Provenance
from agent.net.http import HttpClient
from tests.fakes.clock import SteppedClock
from tests.fakes.telegram_bot import channel_at, listening
from tests.fakes.telegram_server import Fault, running
from tests.fakes.telegram_world import ANNA, BEN, FORUM, GROUP, USERNAME
from tests.waits import wait_until


async def test_a_message_is_heard_as_the_agent_knows_messages(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await bot.server.world.write("hello 👋")
        [heard] = await bot.hear()
        assert (heard.text, heard.channel, heard.sender) == ("hello 👋", "telegram", str(ANNA))
        assert (heard.reply_target, heard.thread, heard.is_group) == (str(ANNA), None, False)
        assert heard.message_id == f"{ANNA}:{message['message_id']}"
        assert heard.provenance is Provenance.WEB
        assert (heard.sender_name, heard.sent_at_s) == ("Anna", float(message["date"]))


async def test_the_platform_is_told_of_the_commands(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await wait_until(lambda: bot.server.world.commands)
        assert [one["command"] for one in bot.server.world.commands[""]] == ["help", "stop"]


async def test_the_commands_are_told_in_the_languages_of_people(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        shown = bot.server.world.commands
        await wait_until(lambda: len(shown) == 1 + len(COMMAND_WORDS))
        assert shown["de"][1] == {"command": "stop", "description": COMMAND_WORDS["de"]["stop"]}
        told = {one[0]["description"] for one in shown.values()}
        assert len(told) == len(shown)


async def test_a_new_connection_does_not_tell_the_commands_again(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        for number in (1, 2):
            connection = asyncio.ensure_future(bot.channel.listen(bot.deliver))
            await bot.server.world.write(f"message {number}")
            await bot.hear(number)
            connection.cancel()
            await asyncio.wait([connection])
        assert len(bot.server.called("getMe")) == 2
        assert len(bot.server.called("setMyCommands")) == 1 + len(COMMAND_WORDS)


async def test_an_update_is_confirmed_only_when_it_was_delivered(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def slow(_: Inbound) -> None:
            begun.set()
            await may_end.wait()

        update = bot.server.world.next_update
        await bot.server.world.write("one")
        task = asyncio.ensure_future(bot.channel.listen(slow))
        await begun.wait()
        assert bot.server.confirmed == 0
        may_end.set()
        await wait_until(lambda: bot.server.confirmed == update + 1)
        task.cancel()
        await asyncio.wait([task])


async def test_what_could_not_be_kept_comes_again(tmp_path: Path) -> None:
    async with running() as server:
        http = HttpClient()
        heard = []

        async def full(_: object) -> None:
            raise StorageFull("no room")

        async def keep(inbound: object) -> None:
            heard.append(inbound)

        await server.world.write("one")
        await server.world.write("two")
        with pytest.raises(StorageFull):
            await channel_at(server, http, tmp_path).listen(full)
        assert server.confirmed == 0
        listening_again = asyncio.ensure_future(channel_at(server, http, tmp_path).listen(keep))
        await wait_until(lambda: len(heard) == 2)
        listening_again.cancel()
        await asyncio.wait([listening_again])
        await http.aclose()


async def test_what_waits_is_heard_though_it_is_more_than_an_answer_may_be(
    tmp_path: Path,
) -> None:
    """The platform writes six bytes for each Cyrillic letter."""
    async with listening(tmp_path, listens=False) as bot:
        longest = "щ" * 4096
        for number in range(100):
            quoted = bot.server.world.message(ANNA, ANNA, longest)
            told = f"{number} {longest}"[:4096]
            await bot.server.world.write(told, reply_to_message=quoted)
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver))
        heard = await bot.hear(100)
        assert [one.text.split()[0] for one in heard] == [str(number) for number in range(100)]
        # Nothing waits any more: an answer may be whole again
        await wait_until(lambda: "limit" not in bot.server.called("getUpdates")[-1])
        task.cancel()
        await asyncio.wait([task])


async def test_how_far_was_read_outlives_a_restart(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.write("one")
        await bot.hear()
        await wait_until((tmp_path / "telegram" / "position.json").exists)
        told = json.loads((tmp_path / "telegram" / "position.json").read_text())
        assert told["offset"] == bot.server.world.next_update


async def test_an_old_position_is_not_asked_with(tmp_path: Path) -> None:
    """After a quiet week the platform counts anew, perhaps from below."""
    place = tmp_path / "telegram" / "position.json"
    place.parent.mkdir()
    clock = SteppedClock()
    place.write_text(json.dumps({"offset": 999_999_999, "saved_at_s": clock.wall_s() - 90_000}))
    async with listening(tmp_path, clock=clock) as bot:
        await bot.server.world.write("after a quiet week")
        await bot.hear()


async def test_another_bot_is_heard_though_it_numbers_from_one_again(tmp_path: Path) -> None:
    heard = list[Inbound]()
    for _ in range(2):
        # With a bot of its own
        async with listening(tmp_path) as bot:
            await bot.server.world.write("/start")
            heard += await bot.hear()
            await wait_until((tmp_path / "telegram" / "position.json").exists)
    # What has an id that was accepted is dropped
    assert heard[0].message_id != heard[1].message_id
    assert [number_of(one.message_id) for one in heard] == [1, 1]


async def test_a_confirmed_offset_is_not_asked_with_again(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.write("one")
        await bot.hear()
        await wait_until(lambda: bot.server.confirmed)
        bot.server.world.next_update = 5
        await wait_until(lambda: "offset" not in bot.server.called("getUpdates")[-1])
        await bot.server.world.write("counted anew")
        assert (await bot.hear(2))[1].text == "counted anew"


async def test_an_update_that_is_not_as_documented_holds_up_nobody(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.push("message", {"message_id": "seven", "chat": 3})
        await bot.server.world.push("message", [1, 2])
        await bot.server.world.write("after it")
        [heard] = await bot.hear()
        assert heard.text == "after it"


async def test_what_stops_the_agent_goes_before_what_waits(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        for text in ("one", "two", "/estop"):
            await bot.server.world.write(text)
        task = asyncio.ensure_future(bot.channel.listen(bot.deliver))
        heard = [message.text for message in await bot.hear(3)]
        task.cancel()
        await asyncio.wait([task])
        assert heard == ["/estop", "one", "two"]


async def test_an_edit_is_no_order_and_its_writer_is_asked(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await bot.server.world.write("lamp off")
        first = (await bot.hear())[0]
        edit = message | {"text": "lamp on", "edit_date": 1_800_000_100}
        await bot.server.world.push("edited_message", edit)
        told = (await bot.hear(2))[1]
        assert (told.text, told.notes) == ("", (EDITED,))
        # It is as old as the edit, however old the message is
        assert told.sent_at_s == 1_800_000_100
        assert told.message_id not in {first.message_id, ""}
        # A preview that came, or a place that moved, is no edit of the person's
        await bot.server.world.push("edited_message", message | {"edit_date": 0})
        await bot.server.world.push("edited_message", edit | {"text": "/estop", "edit_date": 9})
        assert (await bot.hear(3))[2].text == "/estop"


async def test_a_group_that_became_a_supergroup_is_told_of_before_what_is_said_there(
    tmp_path: Path,
) -> None:
    told: list[tuple[str, ...]] = []

    async def moved(*move: str) -> None:
        told.append((*move, *(one.text for one in bot.heard)))

    async with listening(tmp_path, group_moved=moved) as bot:
        new = -1_000_000_000_123
        await bot.server.world.write("", GROUP, migrate_to_chat_id=new)
        await bot.server.world.write("", new, migrate_from_chat_id=GROUP)
        await bot.server.world.write(f"@{USERNAME} lamp on", new)
        [heard] = await bot.hear()
        assert heard.reply_target == str(new)
    assert told == [("telegram", str(GROUP), str(new))]


async def test_what_is_written_to_a_lent_account_is_left_alone(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.write("lamp on", business_connection_id="b1")
        await bot.server.world.write("hello")
        assert [one.text for one in await bot.hear()] == ["hello"]


async def test_what_says_nothing_is_told_as_what_it_is(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.write(poll={"question": "turn the lamp on?"})
        await bot.server.world.write(dice={"emoji": "x", "value": 5})
        await bot.server.world.write(story={"id": 1})
        told = [one.text for one in await bot.hear(3)]
        assert told == ["[a poll]", "[a thrown die]", "[a story]"]


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_page_instead_of_an_answer_is_trouble_that_passes(
    status: int, tmp_path: Path
) -> None:
    async with listening(tmp_path, listens=False) as bot:
        bot.server.faults.append(Fault("getUpdates", html=status))
        with pytest.raises(ChannelUnavailable, match=f"in trouble .HTTP {status}"):
            await bot.channel.listen(bot.deliver)


async def test_a_poll_that_comes_too_often_says_how_long_to_wait(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        bot.server.faults.append(Fault("getUpdates", retry_after_s=7))
        with pytest.raises(ChannelUnavailable) as caught:
            await bot.channel.listen(bot.deliver)
        assert caught.value.retry_after_s == 7


async def test_a_token_that_nobody_knows_is_said_once_and_for_all(tmp_path: Path) -> None:
    async with listening(tmp_path, listens=False) as bot:
        bot.server.token = "654321:another"
        with pytest.raises(ChannelRefused, match="check the token") as caught:
            await bot.channel.listen(bot.deliver)
        assert "a-token-of-the-tests" not in str(caught.value)


async def test_the_pulse_beats_with_every_poll(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with listening(tmp_path, clock=clock) as bot:
        await wait_until(lambda: len(bot.server.called("getUpdates")) >= 2)
        clock.advance(50.0)
        assert bot.channel.pulse.age_s >= 50.0
        await wait_until(lambda: bot.channel.pulse.age_s == 0.0)


class TestGroups:
    async def test_only_who_speaks_to_it_is_heard(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            world = bot.server.world
            await world.write("hello all", GROUP)
            name = f"@{USERNAME}"
            entity = {"type": "mention", "offset": 3, "length": len(name)}
            await world.write(f"👋 {name} lamp on", GROUP, entities=[entity], sender=BEN)
            [heard] = await bot.hear()
            assert (heard.text, heard.sender, heard.is_group) == (
                f"👋 {name} lamp on",
                str(BEN),
                True,
            )
            assert heard.reply_target == str(GROUP)

    @pytest.mark.parametrize(
        ("text", "heard"),
        [
            ("@Barnacle_Bot, lamp on", "lamp on"),
            ("lamp on, @barnacle_bot!", "lamp on, @barnacle_bot!"),
            ("/status@barnacle_bot", "/status"),
            ("/model@Barnacle_bot fast", "/model fast"),
            ("/estop", "/estop"),
            ("/estop!!", "/estop!!"),
        ],
    )
    async def test_a_name_in_plain_text_is_enough(
        self, text: str, heard: str, tmp_path: Path
    ) -> None:
        """A telephone's program leaves out the marks of a mention in formatted text."""
        async with listening(tmp_path) as bot:
            await bot.server.world.write(text, GROUP)
            assert (await bot.hear())[0].text == heard

    @pytest.mark.parametrize(
        "text",
        ["@barnacle_bot2 on", "x@barnacle_bot", "/status@other_bot @barnacle_bot", "/status", "on"],
    )
    async def test_what_is_for_others_is_not_heard(self, text: str, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            await bot.server.world.write(text, GROUP)
            await bot.server.world.write("private")
            assert [one.text for one in await bot.hear()] == ["private"]

    async def test_what_somebody_else_wrote_is_quoted(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            world = bot.server.world
            theirs = world.message(GROUP, BEN, "lamp on!")
            await world.write("@barnacle_bot what does he mean?", GROUP, reply_to_message=theirs)
            assert (await bot.hear())[0].quoted == "lamp on!"

    async def test_an_answer_to_the_bot_is_for_the_bot(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            world = bot.server.world
            mine = world.post(GROUP, {"text": "Shall I?", "entities": []})
            await world.write("yes, please", GROUP, reply_to_message=mine)
            [heard] = await bot.hear()
            assert (heard.text, heard.quoted) == ("yes, please", "")

    async def test_a_topic_is_a_thread_and_a_chain_of_replies_is_none(self, tmp_path: Path) -> None:
        async with listening(tmp_path, settings=TelegramSettings(groups="all")) as bot:
            world = bot.server.world
            await world.write("in a topic", FORUM, message_thread_id=12, is_topic_message=True)
            await world.write("in a chain", FORUM, message_thread_id=13)
            assert [one.thread for one in await bot.hear(2)] == ["12", None]

    async def test_groups_can_be_left_alone(self, tmp_path: Path) -> None:
        async with listening(tmp_path, settings=TelegramSettings(groups="off")) as bot:
            await bot.server.world.write("@barnacle_bot on", GROUP)
            await bot.server.world.write("private")
            assert [one.text for one in await bot.hear()] == ["private"]


async def test_a_poll_takes_no_place_from_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.net.http.MAX_CONNECTIONS", 1)
    async with listening(tmp_path) as bot:
        await bot.server.world.write("hello")
        [heard] = await bot.hear()
        await wait_until(lambda: len(bot.server.called("getUpdates")) >= 2)
        await bot.send("here I am", heard)
        assert bot.server.world.shown(ANNA)[-1] == "here I am"
