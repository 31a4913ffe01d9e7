import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Mark
from agent.channels.telegram.drafts import INTERVAL_S
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Inbound, Outbound
from tests.fakes.clock import SteppedClock
from tests.fakes.telegram_bot import Bot, listening
from tests.fakes.telegram_entities import units
from tests.fakes.telegram_server import Fault
from tests.fakes.telegram_world import ANNA, BEN, FORUM, GROUP
from tests.waits import wait_until

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(50)


def remove(file: Attachment) -> None:
    Path(file.path).unlink()


async def heard(bot: Bot, chat: int = ANNA, **more: object) -> Inbound:
    await bot.server.world.write("@barnacle_bot hello", chat, **more)
    return (await bot.hear())[0]


async def test_an_answer_is_shown_with_its_looks(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.send("**Hot** in <there> & `a < b`", await heard(bot))
        [sent] = bot.server.world.sent
        assert sent["text"] == "Hot in <there> & a < b"
        assert [one["type"] for one in sent["entities"]] == ["bold", "code"]


async def test_a_long_answer_comes_in_parts_that_the_platform_takes(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        text = "\n\n".join(f"{number} 👋 **bold** text" * 20 for number in range(60))
        await bot.send(text, await heard(bot))
        shown = bot.server.world.shown()
        assert len(shown) > 1
        assert all(units(one) <= 4096 for one in shown)
        assert "".join("".join(shown).split()) == "".join(text.replace("**", "").split())


async def test_what_cannot_be_parsed_is_sent_as_plain_text(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        refusal = "Bad Request: can't parse entities: Unsupported start tag"
        bot.server.faults.append(Fault("sendMessage", refuses=refusal))
        await bot.send("**bold** word", await heard(bot))
        [sent] = bot.server.world.sent
        assert (sent["entities"], "bold" in sent["text"]) == ([], True)


async def test_what_is_too_long_after_all_is_divided(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        bot.server.faults.append(Fault("sendMessage", refuses="Bad Request: message is too long"))
        await bot.send("One sentence here.\n\nAnother one there.", await heard(bot))
        assert bot.server.world.shown() == ["One sentence here.", "Another one there."]


async def test_a_moved_group_is_followed(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot, GROUP)
        bot.server.world.moved[GROUP] = -1_000_000_777
        await bot.send("one", message)
        await bot.send("two", message)
        assert bot.server.world.shown(-1_000_000_777) == ["one", "two"]


async def test_an_answer_for_a_closed_topic_goes_to_its_group(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot, FORUM, message_thread_id=12, is_topic_message=True)
        bot.server.world.closed_topics.add(12)
        await bot.send("late", message)
        assert bot.server.world.sent[0].get("message_thread_id") is None


async def test_an_answer_stays_in_its_topic_and_answers_its_message(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot, FORUM, message_thread_id=12, is_topic_message=True)
        await bot.send("here", message)
        [sent] = bot.server.world.sent
        assert sent["message_thread_id"] == 12
        assert f"{FORUM}:{sent['reply_to_message']['message_id']}" == message.message_id


async def test_somebody_who_blocked_the_bot_gets_nothing_more(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot)
        bot.server.world.blocked.add(ANNA)
        with pytest.raises(MessageRefused, match="blocked by the user"):
            await bot.send("hello?", message)


@pytest.mark.parametrize("fault", [{"html": 502}, {"html": 504}, {"cuts": True}])
async def test_trouble_of_the_server_is_no_refusal(fault: dict[str, int], tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot)
        bot.server.faults.append(Fault("sendMessage", **fault))
        with pytest.raises(ChannelUnavailable):
            await bot.send("one", message)
        await bot.send("one", message)
        assert bot.server.world.shown() == ["one"]


async def test_a_chat_that_asks_for_silence_is_left_alone_and_others_are_not(
    tmp_path: Path,
) -> None:
    clock = SteppedClock()
    async with listening(tmp_path, clock=clock) as bot:
        message = await heard(bot)
        bot.server.faults.append(Fault("sendMessage", retry_after_s=30))
        with pytest.raises(ChannelUnavailable) as caught:
            await bot.send("one", message)
        assert caught.value.retry_after_s == 30
        clock.advance(20)
        before = len(bot.server.called("sendMessage"))
        with pytest.raises(ChannelUnavailable) as caught:
            await bot.send("one", message)
        await bot.channel.typing(message)
        await bot.channel.mark(message, Mark.SEEN)
        assert caught.value.retry_after_s == pytest.approx(10)
        assert len(bot.server.called("sendMessage")) == before
        assert not bot.server.called("sendChatAction")
        await bot.channel.send(Outbound(2, "telegram", str(BEN), "to somebody else", ""))
        clock.advance(11)
        await bot.send("one", message)
        assert (bot.server.world.shown(), bot.server.world.shown(BEN)) == (
            ["one"],
            ["to somebody else"],
        )


class TestFiles:
    def file(self, folder: Path, content: bytes, kind: str, name: str = "x") -> Attachment:
        path = folder / name
        path.write_bytes(content)
        return Attachment(str(path), kind, name, len(content))

    async def give(self, bot: Bot, *files: Attachment, text: str = "") -> None:
        message = await heard(bot)
        told = Outbound(5, "telegram", message.reply_target, text, message.message_id, files=files)
        await bot.channel.send(told)

    @pytest.mark.parametrize(
        ("kind", "content", "field"),
        [
            ("image/png", PIXEL, "photo"),
            ("audio/ogg", b"OggS" + bytes(50), "voice"),
            ("application/pdf", b"%PDF", "document"),
        ],
    )
    async def test_a_file_goes_as_what_it_is(
        self, kind: str, content: bytes, field: str, tmp_path: Path
    ) -> None:
        async with listening(tmp_path) as bot:
            await self.give(bot, self.file(tmp_path, content, kind), text="Here.")
            text, file = bot.server.world.sent
            assert text["text"] == "Here."
            told = file[field][0] if field == "photo" else file[field]
            assert bot.server.world.files[told["file_id"]] == content

    async def test_a_picture_that_is_none_goes_as_a_file(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            await self.give(bot, self.file(tmp_path, b"no picture", "image/png", 'a"b.png'))
            assert bot.server.world.sent[0]["document"]["file_name"] == "ab.png"

    async def test_a_file_that_fails_does_not_repeat_the_text(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot)
            files = tuple(self.file(tmp_path, b"%PDF", "application/pdf", name) for name in "ab")
            told = Outbound(5, "telegram", message.reply_target, "Two files.", "", files=files)
            bot.server.faults.append(Fault("sendDocument", html=502))
            with pytest.raises(ChannelUnavailable):
                await bot.channel.send(told)
            await bot.channel.send(told)
            assert bot.server.world.shown() == ["Two files."]
            sent = [one["document"]["file_name"] for one in bot.server.world.sent[1:]]
            assert sent == ["a", "b"]

    async def test_a_file_follows_a_group_that_has_moved(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot, GROUP)
            bot.server.world.moved[GROUP] = -1_000_000_777
            file = self.file(tmp_path, PIXEL, "image/png", "x.png")
            told = Outbound(5, "telegram", message.reply_target, "", "", files=(file,))
            await bot.channel.send(told)
            [sent] = bot.server.world.sent
            assert (sent["chat"]["id"], "photo" in sent) == (-1_000_000_777, True)

    async def test_a_file_for_a_closed_topic_goes_to_its_group(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot, FORUM, message_thread_id=12, is_topic_message=True)
            bot.server.world.closed_topics.add(12)
            file = self.file(tmp_path, PIXEL, "image/png", "x.png")
            told = Outbound(5, "telegram", message.reply_target, "", "", message.thread)
            await bot.channel.send(replace(told, files=(file,)))
            [sent] = bot.server.world.sent
            assert (sent.get("message_thread_id"), "photo" in sent) == (None, True)

    @pytest.mark.parametrize("content", [None, b""])
    async def test_a_file_that_cannot_go_is_said(
        self, content: bytes | None, tmp_path: Path
    ) -> None:
        async with listening(tmp_path) as bot:
            file = self.file(tmp_path, content or b"", "application/pdf", "report.pdf")
            if content is None:
                remove(file)
            await self.give(bot, file)
            assert bot.server.world.shown()[0].startswith("(report.pdf was to come with this")


class TestDrafts:
    async def test_in_a_private_chat_the_platform_shows_them(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot)
            await bot.channel.draft(message, "It is")
            await wait_until(lambda: bot.server.world.drafts)
            await bot.send("It is 24 degrees.", message)
            assert bot.server.world.drafts[0]["text"] == "It is"
            assert bot.server.world.shown() == ["It is 24 degrees."]

    @pytest.mark.parametrize(("chat", "has_drafts"), [(GROUP, True), (ANNA, False)])
    async def test_elsewhere_a_message_grows_and_becomes_the_answer(
        self, chat: int, *, has_drafts: bool, tmp_path: Path
    ) -> None:
        async with listening(tmp_path, has_drafts=has_drafts) as bot:
            message = await heard(bot, chat)
            await bot.channel.draft(message, "It is")
            await wait_until(lambda: bot.server.world.sent)
            await bot.send("It is 24 degrees.", message)
            assert len(bot.server.world.sent) == 1
            assert bot.server.world.shown(chat) == ["It is 24 degrees."]

    async def test_the_same_text_again_is_no_failure(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot, GROUP)
            await bot.channel.draft(message, "Done.")
            await wait_until(lambda: bot.server.world.sent)
            await bot.send("Done.", message)
            assert bot.server.world.shown(GROUP) == ["Done."]

    async def test_a_draft_that_was_deleted_leaves_the_answer(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot, GROUP)
            await bot.channel.draft(message, "It is")
            await wait_until(lambda: bot.server.world.sent)
            del bot.server.world.messages[GROUP, bot.server.world.sent[0]["message_id"]]
            await bot.send("It is 24 degrees.", message)
            assert bot.server.world.shown(GROUP) == ["It is 24 degrees."]

    async def test_they_keep_their_distance_and_the_last_text_arrives(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot)
            words = [f"word{number}" for number in range(200)]
            for count in range(1, 200):
                await bot.channel.draft(message, " ".join(words[:count]))
                await asyncio.sleep(0.0005)
            # An answer that is whole sooner is no draft
            await wait_until(lambda: bot.server.called("sendMessageDraft"))
            await bot.send(" ".join(words), message)
            times_s = [one.at_s for one in bot.server.calls if one.method == "sendMessageDraft"]
            assert times_s
            assert all(after - before >= INTERVAL_S for before, after in pairwise(times_s))
            assert bot.server.world.shown() == [" ".join(words)]

    async def test_they_are_dropped_where_the_platform_wants_silence(self, tmp_path: Path) -> None:
        clock = SteppedClock()
        async with listening(tmp_path, clock=clock) as bot:
            message = await heard(bot)
            bot.server.faults.append(Fault("sendMessageDraft", retry_after_s=30))
            await bot.channel.draft(message, "one")
            await wait_until(lambda: bot.server.called("sendMessageDraft"))
            await wait_until(
                lambda: 30.0 in {round(one) for one in [bot.channel._silence.left_s(str(ANNA))]}
            )
            with pytest.raises(ChannelUnavailable):
                await bot.send("one two", message)

    async def test_a_text_that_is_longer_than_a_message_is_shown_in_its_first(
        self, tmp_path: Path
    ) -> None:
        async with listening(tmp_path) as bot:
            message = await heard(bot)
            await bot.channel.draft(message, "many words " * 2000)
            await wait_until(lambda: bot.server.world.drafts)
            assert units(bot.server.world.drafts[0]["text"]) <= 4096


async def test_typing_is_shown_in_the_topic(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot, FORUM, message_thread_id=12, is_topic_message=True)
        await bot.channel.typing(message)
        [action] = bot.server.world.actions
        assert (action["chat"], action["message_thread_id"], action["action"]) == (
            *(FORUM, 12),
            "typing",
        )


async def test_marks_are_signs_on_the_persons_message(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot)
        for mark in Mark:
            await bot.channel.mark(message, mark)
        shown = [one["reaction"][0]["emoji"] for one in bot.server.world.reactions]
        assert shown == ["👀", "👌", "😢"]


async def test_a_chat_without_signs_is_asked_once(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        message = await heard(bot)
        bot.server.world.without_reactions.add(ANNA)
        await bot.channel.mark(message, Mark.SEEN)
        await bot.channel.mark(message, Mark.DONE)
        assert len(bot.server.called("setMessageReaction")) == 1


async def test_no_preview_is_fetched_and_no_effect_is_played(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.send("see https://example.org/a", await heard(bot))
        [sent] = bot.server.called("sendMessage")
        assert sent["link_preview_options"] == {"is_disabled": True}
        assert "message_effect_id" not in sent
