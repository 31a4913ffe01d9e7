import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.channels.discord.channel import DiscordChannel
from agent.channels.settings import DiscordSettings
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Inbound, Whose
from agent.net.http import HttpClient
from tests.contracts.listener import Listener, answer, listening
from tests.fakes import discord_server
from tests.fakes.discord_platform import CALLED, COMMANDS, channel_at
from tests.fakes.discord_server import DiscordServer, Fault
from tests.fakes.discord_world import ANNA, BEN, BOT, DM, OTHER_BOT, ROOM, THREAD, Json
from tests.waits import wait_until

MESSAGES = r"/channels/\d+/messages"
QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something", always="the lamp")


class Bot:
    """The channel at work, with the world around it."""

    def __init__(self, server: DiscordServer, channel: DiscordChannel, listener: Listener) -> None:
        self.server = server
        self.world = server.world
        self.channel = channel
        self.listener = listener

    async def hear(self, text: str = "hello", channel: str = DM) -> Inbound:
        self.world.post(channel, ANNA, text)
        await wait_until(lambda: self.listener.heard)
        return self.listener.heard[-1]

    def mine(self) -> list[Json]:
        return [one for one in self.world.messages.values() if one["author"] is BOT]


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def bot(http: HttpClient, tmp_path: Path) -> AsyncIterator[Bot]:
    async with discord_server.running() as server:
        channel = channel_at(server, http, tmp_path, knows=lambda one: one.sender == ANNA["id"])
        async with listening(channel) as listener:
            await wait_until(lambda: server.world.commands)
            yield Bot(server, channel, listener)


async def test_an_answer_whose_receipt_was_lost_is_taken_once(bot: Bot) -> None:
    heard = await bot.hear()
    bot.server.faults.append(Fault("POST", MESSAGES, cuts=True, acts=True))
    with pytest.raises(ChannelUnavailable):
        await bot.channel.send(answer(heard, "Once."))
    await bot.channel.send(answer(heard, "Once."))
    assert [one["content"] for one in bot.mine()] == ["Once."]


async def test_what_is_used_up_is_handed_on_before_it_is_asked(bot: Bot) -> None:
    heard = await bot.hear()
    bot.server.allowance = (0, 4.0)
    await bot.channel.send(answer(heard, "One."))
    count = len(bot.server.calls)
    with pytest.raises(ChannelUnavailable) as caught:
        await bot.channel.send(answer(heard, "Two.", 2))
    assert caught.value.retry_after_s == pytest.approx(4, abs=1)
    assert len(bot.server.calls) == count


async def test_a_draft_that_somebody_deleted_costs_no_answer(bot: Bot) -> None:
    heard = await bot.hear()
    await bot.channel.draft(heard, "It is")
    await wait_until(bot.mine)
    del bot.world.messages[bot.mine()[0]["id"]]
    await bot.channel.send(answer(heard, "It is warm."))
    assert [one["content"] for one in bot.mine()] == ["It is warm."]


async def test_a_draft_whose_receipt_was_lost_becomes_the_answer(bot: Bot) -> None:
    heard = await bot.hear()
    bot.server.faults.append(Fault("POST", MESSAGES, cuts=True, acts=True))
    await bot.channel.draft(heard, "It is")
    await wait_until(bot.mine)
    await bot.channel.send(answer(heard, "It is warm."))
    assert [one["content"] for one in bot.mine()] == ["It is warm."]


async def test_a_draft_that_never_came_costs_no_answer(bot: Bot) -> None:
    heard = await bot.hear()
    bot.server.faults.append(Fault("POST", MESSAGES, cuts=True))
    await bot.channel.draft(heard, "It is")
    await wait_until(lambda: not bot.server.faults)
    await bot.channel.send(answer(heard, "It is warm."))
    assert [one["content"] for one in bot.mine()] == ["It is warm."]


async def test_an_answer_opens_an_archived_thread_again(bot: Bot) -> None:
    heard = await bot.hear(f"{CALLED} hello", THREAD)
    await bot.channel.draft(heard, "It is")
    await wait_until(bot.mine)
    bot.world.channels[THREAD]["thread_metadata"]["archived"] = True
    await bot.channel.send(answer(heard, "It is warm."))
    assert (bot.mine()[-1]["channel_id"], bot.mine()[-1]["content"]) == (THREAD, "It is warm.")


@pytest.mark.parametrize("is_archived", [True, False])
async def test_an_answer_to_a_locked_thread_stands_in_its_channel(
    bot: Bot, tmp_path: Path, *, is_archived: bool
) -> None:
    heard = await bot.hear(f"{CALLED} hello", THREAD)
    await bot.channel.draft(heard, "It is")
    await wait_until(bot.mine)
    path = tmp_path / "plan.txt"
    path.write_bytes(b"x")
    file = Attachment(str(path), "text/plain", "plan.txt", 1)
    bot.world.channels[THREAD]["thread_metadata"] |= {"locked": True, "archived": is_archived}
    # Where its receipt is lost it is sent again, and stands there once
    bot.server.faults.append(Fault("POST", f"/channels/{ROOM}/messages", cuts=True, acts=True))
    told = replace(answer(heard, "It is **warm**."), files=(file,))
    with pytest.raises(ChannelUnavailable):
        await bot.channel.send(told)
    await bot.channel.send(told)
    there = [one for one in bot.mine() if one["channel_id"] == ROOM]
    assert [one["content"] for one in there] == [f"<#{THREAD}> It is **warm**.", ""]
    assert len(there[1]["attachments"]) == 1


@pytest.mark.parametrize(
    ("place", "told"),
    [(THREAD, {"type": 12}), (ROOM, {"type": 15}), (THREAD, {"parent_id": "100000000000000099"})],
    ids=["private thread", "forum", "of another channel"],
)
async def test_an_answer_to_a_locked_thread_goes_nowhere_else(
    bot: Bot, place: str, told: Json
) -> None:
    heard = await bot.hear(f"{CALLED} hello", THREAD)
    bot.world.channels[THREAD]["thread_metadata"]["locked"] = True
    bot.world.channels[place] |= told
    with pytest.raises(MessageRefused, match="Manage Threads"):
        await bot.channel.send(answer(heard, "It is warm."))
    assert not bot.mine()


async def test_a_person_who_takes_no_messages_is_told_of_in_words(bot: Bot) -> None:
    heard = await bot.hear()
    refusal = (403, 50007, "Cannot send messages to this user")
    bot.server.faults.append(Fault("POST", MESSAGES, refuses=refusal))
    with pytest.raises(MessageRefused, match="share a server"):
        await bot.channel.send(answer(heard, "Hello."))


async def test_a_file_that_is_too_large_there_is_told_of(bot: Bot, tmp_path: Path) -> None:
    heard = await bot.hear()
    path = tmp_path / "big.bin"
    path.write_bytes(b"x")
    file = Attachment(str(path), "application/octet-stream", "big.bin", 1)
    refusal = (413, 40005, "Request entity too large")
    bot.server.faults.append(Fault("POST", MESSAGES, refuses=refusal))
    await bot.channel.send(replace(answer(heard, ""), files=(file,)))
    assert "big.bin is larger" in bot.mine()[-1]["content"].replace("\\", "")


async def test_a_sign_takes_the_place_of_the_one_before(bot: Bot) -> None:
    heard = await bot.hear()
    await bot.channel.mark(heard, Mark.SEEN)
    await bot.channel.mark(heard, Mark.DONE)
    assert {sign for _, sign in bot.world.reactions} == {"✅"}


async def test_where_no_signs_are_allowed_none_are_tried_again(bot: Bot) -> None:
    heard = await bot.hear()
    bot.server.rest.without_signs.add(DM)
    await bot.channel.mark(heard, Mark.SEEN)
    await bot.channel.mark(heard, Mark.DONE)
    assert len(bot.server.called("PUT", "/reactions/")) == 1


async def test_a_long_question_comes_whole_where_little_is_taken_at_once(bot: Bot) -> None:
    heard = await bot.hear()
    # Each message is the last that is taken for a while
    bot.server.allowance = (0, 0.05)
    question = Question("shell", '{"x":"' + "y" * 3000 + '"}', "it runs something")
    asking = asyncio.ensure_future(bot.channel.ask(heard.address, question))
    await wait_until(lambda: asking.done() or (bot.mine() and bot.mine()[-1]["components"]))
    assert len(bot.mine()) == 4
    bot.world.press(bot.mine()[-1], "Yes")
    assert await asking is Answer.YES


async def test_only_whoever_was_asked_can_press(bot: Bot) -> None:
    heard = await bot.hear(f"{CALLED} lamp on", ROOM)
    asking = asyncio.ensure_future(bot.channel.ask(heard.address, QUESTION))
    await wait_until(lambda: bot.mine() and bot.mine()[-1]["components"])
    wrong = bot.world.press(bot.mine()[-1], "Yes", BEN)
    await wait_until(lambda: bot.world.interactions[wrong][1])
    told = bot.world.interactions[wrong][1]
    assert told is not None
    assert told["data"]["flags"] == 64
    assert not asking.done()
    bot.world.press(bot.mine()[-1], "Always")
    assert await asking is Answer.ALWAYS
    over = bot.mine()[-1]
    await wait_until(
        lambda: over["components"][0]["components"][0]["label"] == "Approved from now on."
    )


async def test_a_call_too_long_to_be_shown_is_not_asked_about(bot: Bot) -> None:
    heard = await bot.hear()
    question = Question("shell", '{"x":"' + "y" * 9000 + '"}', "it runs something")
    assert await bot.channel.ask(heard.address, question) is Answer.NONE
    assert not bot.mine()


async def test_a_command_that_is_chosen_is_as_good_as_typed(bot: Bot) -> None:
    assert [one["name"] for one in bot.world.commands] == [name for name, _ in COMMANDS]
    chosen = bot.world.choose("pair", "ABCD 12")
    await wait_until(lambda: bot.listener.heard)
    [heard] = bot.listener.heard
    assert (heard.text, heard.sender, heard.message_id) == ("/pair ABCD 12", ANNA["id"], chosen)
    await wait_until(lambda: bot.world.interactions[chosen][1])
    told = bot.world.interactions[chosen][1]
    # What was typed is shown to nobody
    assert told is not None
    assert told["data"] == {"content": "/pair", "flags": 64, "allowed_mentions": {"parse": []}}
    await bot.channel.mark(heard, Mark.SEEN)
    await bot.channel.send(answer(heard, "Welcome."))
    assert [one["content"] for one in bot.mine()] == ["Welcome."]
    assert not bot.world.reactions


async def test_what_stops_the_agent_does_not_wait_for_a_file(bot: Bot) -> None:
    bot.server.may_download.clear()
    bot.world.post(DM, ANNA, "look", attachments=[bot.world.keep(b"slow")])
    await wait_until(lambda: bot.server.called("GET", "/attachments/"))
    bot.world.post(ROOM, ANNA, f"{CALLED}, /stop")
    await wait_until(lambda: [one.text for one in bot.listener.heard] == ["/stop"])
    bot.server.may_download.set()
    bot.world.post(DM, ANNA, "done")
    await wait_until(lambda: bot.listener.heard[-1].text == "done")
    assert [one.text for one in bot.listener.heard] == ["/stop", "look", "done"]


async def test_a_stranger_fills_no_disk(bot: Bot, tmp_path: Path) -> None:
    bot.world.post(DM, BEN, "look", attachments=[bot.world.keep(b"of Ben")])
    await wait_until(lambda: bot.listener.heard)
    assert (bot.listener.heard[0].text, bot.listener.heard[0].notes) == (
        "look",
        ("I did not fetch a file: only of people with access I keep files.",),
    )
    assert not (tmp_path / "inbox").exists()


async def test_a_file_from_anywhere_else_is_not_fetched(bot: Bot) -> None:
    file = bot.world.keep(b"x") | {"url": "http://169.254.169.254/latest"}
    bot.world.post(DM, ANNA, "look", attachments=[file])
    await wait_until(lambda: bot.listener.heard)
    assert "not on Discord's server" in bot.listener.heard[0].notes[0]


async def test_no_program_is_taken_for_a_person(bot: Bot) -> None:
    bot.world.post(DM, OTHER_BOT, "I am a bot")
    bot.world.post(ROOM, ANNA, f"{CALLED} by a hook", webhook_id="5")
    bot.world.post(ROOM, ANNA, f"{CALLED} has joined", type=7)
    assert (await bot.hear("a person")).text == "a person"
    assert len(bot.listener.heard) == 1


async def test_an_answer_to_the_bot_calls_it_and_one_to_others_is_quoted(bot: Bot) -> None:
    own = bot.world.post(ROOM, BOT, "It is warm.")
    bot.world.answer(own, ANNA, "since when?")
    await wait_until(lambda: bot.listener.heard)
    others = bot.world.post(ROOM, BEN, "open the valve")
    bot.world.answer(others, ANNA, f"{CALLED} what does he mean?")
    await wait_until(lambda: len(bot.listener.heard) == 2)
    first, second = bot.listener.heard
    assert (first.quoted, first.quoted_of) == ("", Whose.AGENTS)
    assert (second.text, second.quoted) == ("what does he mean?", "open the valve")
    assert second.quoted_of is Whose.ANYBODYS


async def test_what_is_passed_on_is_nobodys_order(bot: Bot) -> None:
    snapshot = {"message": {"content": "open the valve", "attachments": []}}
    more = {"message_reference": {"type": 1}, "message_snapshots": [snapshot]}
    bot.world.post(DM, ANNA, "", **more)
    await wait_until(lambda: bot.listener.heard)
    [heard] = bot.listener.heard
    assert heard.is_forwarded
    assert (heard.text, heard.quoted) == ("[a forwarded message]", "open the valve")


async def test_where_groups_are_off_a_command_is_answered_to_its_person_alone(
    http: HttpClient, tmp_path: Path
) -> None:
    async with discord_server.running() as server:
        channel = channel_at(server, http, tmp_path, DiscordSettings(groups="off"))
        async with listening(channel) as listener:
            await wait_until(lambda: server.world.commands)
            chosen = server.world.choose("help", channel=ROOM)
            await wait_until(lambda: server.world.interactions[chosen][1])
            server.world.post(ROOM, ANNA, f"{CALLED} hello")
            server.world.post(DM, ANNA, "in private")
            await wait_until(lambda: listener.heard)
            assert [one.text for one in listener.heard] == ["in private"]
