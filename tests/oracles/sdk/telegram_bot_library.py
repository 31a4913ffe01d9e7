"""What python-telegram-bot sends to a Bot API server, and what it reads there."""

import asyncio
from pathlib import Path
from typing import Any

from telegram import (
    Bot,
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import BadRequest, Conflict, Forbidden, NetworkError, RetryAfter, TelegramError
from telegram_update import plain


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(_ask(talk))


async def _ask(talk: dict[str, Any]) -> dict[str, Any]:
    base = talk["url"]
    bot = Bot(talk["token"], base_url=f"{base}/bot", base_file_url=f"{base}/file/bot")
    async with bot:
        updates = await bot.get_updates(timeout=0, allowed_updates=talk["allowed_updates"])
        await _act(bot, talk)
        file = await bot.get_file(talk["file_id"])
        content = await file.download_as_bytearray()
        return {
            "me": bot.id,
            "updates": [plain(one) for one in updates],
            "file": bytes(content).hex(),
            "errors": await _errors(bot, talk),
        }


async def _act(bot: Bot, talk: dict[str, Any]) -> None:
    chat, message, html = talk["chat"], talk["message_id"], talk["html"]
    keys = [InlineKeyboardButton(label, callback_data=data) for label, data in talk["buttons"]]
    answered = ReplyParameters(message_id=message, allow_sending_without_reply=True)
    await bot.set_my_commands([BotCommand(name, words) for name, words in talk["commands"]])
    quiet = LinkPreviewOptions(is_disabled=True)
    await bot.send_message(
        chat,
        html,
        parse_mode="HTML",
        message_thread_id=talk["thread"],
        reply_parameters=answered,
        link_preview_options=quiet,
    )
    markup = InlineKeyboardMarkup([keys])
    sent = await bot.send_message(
        chat,
        "Shall I?",
        message_thread_id=talk["thread"],
        reply_markup=markup,
        link_preview_options=quiet,
    )
    await bot.edit_message_text(
        "Yes.", chat_id=chat, message_id=sent.message_id, link_preview_options=quiet
    )
    await bot.send_chat_action(chat, "typing", message_thread_id=talk["thread"])
    await bot.set_message_reaction(chat, message, reaction=[ReactionTypeEmoji("👀")])
    await bot.answer_callback_query(talk["callback_id"])
    draft = talk["draft_chat"]
    await bot.send_message_draft(draft, talk["draft_id"], html, parse_mode="HTML")
    await bot.send_photo(chat, Path(talk["photo"]))


async def _errors(bot: Bot, talk: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, chat in talk["troubles"].items():
        try:
            await bot.send_message(chat, name)
        except RetryAfter as err:
            found[name] = ["retry after", int(float(str(getattr(err, "_retry_after", 0).seconds)))]
        except (Forbidden, BadRequest) as err:
            found[name] = [type(err).__name__, err.message]
        except NetworkError:
            found[name] = ["server"]
        except TelegramError as err:
            found[name] = [type(err).__name__, err.message, getattr(err, "new_chat_id", None)]
    try:
        await bot.get_updates(timeout=0)
    except Conflict as err:
        found["conflict"] = ["Conflict", err.message]
    return found
