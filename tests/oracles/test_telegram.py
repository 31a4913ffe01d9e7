"""What two libraries of others send to a Bot API server, and what they read from ours.

Neither of their authors saw our fake: where both understand it, it speaks as the platform does.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.channels.base import Answer, Mark, Question
from agent.channels.telegram.events import ALLOWED_UPDATES
from agent.messages import Attachment, Inbound, Outbound
from tests.fakes import telegram_server
from tests.fakes.telegram_bot import COMMANDS, Bot, listening
from tests.fakes.telegram_methods import Upload
from tests.fakes.telegram_server import WEBHOOK, Fault, TelegramServer
from tests.fakes.telegram_world import ANNA, BEN, FORUM
from tests.oracles import clients
from tests.waits import wait_until

ORACLES = ("telegram_bot_library", "aiogram_bot")
PHOTO = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
QUESTION = Question("board_gpio_write", "{}", "it moves something", always="the lamp")
MOVED = -2001


@dataclass
class Talked:
    """The same done twice: by a library, and by the channel."""

    told: dict[str, Any]
    theirs: TelegramServer
    ours: TelegramServer
    updates: list[list[Any]]


_talks: dict[str, Talked] = {}


@pytest.fixture(params=ORACLES)
async def talked(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Talked:
    """Made once for each library: they take seconds to load."""
    clients.needed()
    if request.param not in _talks:
        _talks[request.param] = await _talk(request.param, tmp_path_factory.mktemp("talk"))
    return _talks[request.param]


async def _talk(oracle: str, folder: Path) -> Talked:
    photo = _photo(folder)
    ours, draft_id = await _act(folder, photo)
    async with telegram_server.running() as server:
        talk = await _prepared(server)
        asked = {**talk, "photo": photo.path, "draft_id": draft_id}
        updates = [_plain(update) for update in server.world.updates]
        webhook = asyncio.create_task(_set_webhook(server))
        told = await clients.told_by(oracle, asked)
        await webhook
        return Talked(told, server, ours, updates)


async def _prepared(server: TelegramServer) -> dict[str, object]:
    """A world with everything in it that is asked about."""
    world = server.world
    topic = {"message_thread_id": 12, "is_topic_message": True}
    message = await world.write("hello 👋", FORUM, **topic)
    file = world.keep(PHOTO)
    await world.write(
        photo=[file | {"width": 8, "height": 8}], caption="look", sender=BEN, chat=BEN
    )
    asked = world.post(FORUM, {"text": "Shall I?", "entities": []})
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes:ab23"}]]}
    await world.press(asked | {"reply_markup": keyboard}, "Yes")
    world.blocked.add(1111)
    world.moved[-1555] = MOVED
    server.faults.append(Fault("sendMessage", retry_after_s=7, chat=1222))
    server.faults.append(Fault("sendMessage", html=502, chat=1333))
    return {
        "url": server.base_url,
        "token": server.token,
        "allowed_updates": ALLOWED_UPDATES,
        "chat": FORUM,
        "draft_chat": ANNA,
        "message_id": message["message_id"],
        "thread": 12,
        "html": "<b>Hot</b> &lt;there&gt;",
        "buttons": _buttons(),
        "commands": COMMANDS,
        "callback_id": "cb1",
        "file_id": file["file_id"],
        "troubles": {"blocked": 1111, "limit": 1222, "html": 1333, "moved": -1555, "unknown": 3},
    }


def _buttons() -> list[tuple[str, str]]:
    answers = (Answer.YES, Answer.NO, Answer.ALWAYS)
    return [(one.value.capitalize(), f"{one.value}:{QUESTION.question_id}") for one in answers]


async def _set_webhook(server: TelegramServer) -> None:
    """Once the first updates are fetched."""
    await wait_until(lambda: server.called("setMyCommands"))
    server.webhook = True


async def _act(folder: Path, photo: Attachment) -> tuple[TelegramServer, int]:
    """The channel does what the libraries are asked to do."""
    async with listening(folder) as bot:
        topic = {"message_thread_id": 12, "is_topic_message": True}
        await bot.server.world.write("@barnacle_bot hello", FORUM, **topic)
        [heard] = await bot.hear()
        answer = Outbound(1, "telegram", str(FORUM), "**Hot** <there>", heard.message_id, "12")
        await bot.channel.send(answer)
        await _ask(bot, heard)
        await bot.channel.typing(heard)
        await bot.channel.mark(heard, Mark.SEEN)
        await bot.channel.send(Outbound(2, "telegram", str(FORUM), "", "", files=(photo,)))
        await bot.server.world.write("hello")
        private = (await bot.hear(2))[1]
        await bot.channel.draft(private, "**Hot** <there>")
        await wait_until(lambda: bot.server.world.drafts)
        return bot.server, bot.server.world.drafts[0]["draft_id"]


async def _ask(bot: Bot, heard: Inbound) -> None:
    asking = asyncio.ensure_future(bot.channel.ask(heard.address, QUESTION))
    await wait_until(lambda: len(bot.server.world.sent) == 2)
    await bot.server.world.press(bot.server.world.sent[-1], "Yes")
    assert await asking is Answer.YES
    await wait_until(lambda: bot.server.world.edits and bot.server.world.answered_callbacks)


def _photo(folder: Path) -> Attachment:
    path = folder / "photo.png"
    path.write_bytes(PHOTO)
    return Attachment(str(path), "image/png", "photo.png", len(PHOTO))


def test_a_library_reads_our_updates_as_they_are_meant(talked: Talked) -> None:
    assert talked.told["updates"] == talked.updates
    assert talked.told["me"] == talked.theirs.world.bot["id"]
    assert bytes.fromhex(talked.told["file"]) == PHOTO


def test_a_library_understands_every_refusal(talked: Talked) -> None:
    errors = talked.told["errors"]
    assert errors["blocked"][0] == "Forbidden"
    assert errors["limit"] == ["retry after", 7]
    assert errors["html"] == ["server"]
    assert (errors["moved"][0], errors["moved"][2]) == ("ChatMigrated", MOVED)
    assert errors["unknown"][0] == "BadRequest"
    assert "chat not found" in errors["unknown"][1].lower()
    assert errors["conflict"][0] == "Conflict"
    assert WEBHOOK.removeprefix("Conflict: ") in errors["conflict"][1]


@pytest.mark.parametrize(
    "method",
    [
        "getUpdates",
        "setMyCommands",
        "sendMessage",
        "editMessageText",
        "sendChatAction",
        "setMessageReaction",
        "answerCallbackQuery",
        "sendPhoto",
        "sendMessageDraft",
    ],
)
def test_a_call_of_ours_says_what_a_librarys_says(method: str, talked: Talked) -> None:
    theirs = [_canonical(one) for one in talked.theirs.called(method)]
    called = talked.ours.called(method)
    assert theirs
    assert called
    # The libraries are asked for the commands of everybody; the languages have their own words
    for asked in (one for one in called if "language_code" not in one):
        mine = _canonical(asked)
        if method in {"sendMessage", "editMessageText"}:
            assert mine["link_preview_options"] == {"is_disabled": True}
        assert any(mine.keys() <= one.keys() for one in theirs), (mine, theirs)
        for name in mine.keys() & _ALIKE:
            assert any(one.get(name) == mine[name] for one in theirs), (name, mine, theirs)


# What is the same whatever the message is about
_ALIKE = frozenset(
    {
        "allowed_updates",
        "parse_mode",
        "action",
        "reaction",
        "commands",
        "reply_markup",
        "link_preview_options",
    }
)


def _canonical(asked: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in asked.items() if name != "offset"}
    return {
        name: len(one.content) if isinstance(one, Upload) else one for name, one in plain.items()
    }


def _plain(update: dict[str, Any]) -> list[Any]:
    pressed, message = update.get("callback_query"), update.get("message")
    if pressed is not None:
        place = pressed["message"]["chat"]["id"]
        return [update["update_id"], pressed["data"], pressed["from"]["id"], place]
    assert message is not None
    text = message.get("text") or message["caption"]
    return [update["update_id"], text, message["from"]["id"], message["chat"]["id"]]
