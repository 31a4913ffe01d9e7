"""What aiogram sends to a Bot API server, and what it reads there."""

import asyncio
from typing import Any

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    ClientDecodeError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramRetryAfter,
    TelegramServerError,
)
from aiogram.types import (
    BotCommand,
    FSInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram_update import plain


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(_ask(talk))


async def _ask(talk: dict[str, Any]) -> dict[str, Any]:
    session = AiohttpSession(api=TelegramAPIServer.from_base(talk["url"]))
    async with Bot(talk["token"], session=session) as bot:
        me = await bot.get_me()
        updates = await bot.get_updates(timeout=0, allowed_updates=talk["allowed_updates"])
        await _act(bot, talk)
        file = await bot.get_file(talk["file_id"])
        content = await bot.download_file(file.file_path)
        return {
            "me": me.id,
            "updates": [plain(one) for one in updates],
            "file": content.read().hex(),
            "errors": await _errors(bot, talk),
        }


async def _act(bot: Bot, talk: dict[str, Any]) -> None:
    chat, message, thread = talk["chat"], talk["message_id"], talk["thread"]
    keys = [InlineKeyboardButton(text=label, callback_data=data) for label, data in talk["buttons"]]
    answered = ReplyParameters(message_id=message, allow_sending_without_reply=True)
    commands = [BotCommand(command=name, description=words) for name, words in talk["commands"]]
    await bot.set_my_commands(commands)
    quiet = LinkPreviewOptions(is_disabled=True)
    await bot.send_message(
        chat,
        talk["html"],
        parse_mode="HTML",
        message_thread_id=thread,
        reply_parameters=answered,
        link_preview_options=quiet,
    )
    markup = InlineKeyboardMarkup(inline_keyboard=[keys])
    sent = await bot.send_message(
        chat, "Shall I?", message_thread_id=thread, reply_markup=markup, link_preview_options=quiet
    )
    await bot.edit_message_text(
        "Yes.", chat_id=chat, message_id=sent.message_id, link_preview_options=quiet
    )
    await bot.send_chat_action(chat, "typing", message_thread_id=thread)
    await bot.set_message_reaction(chat, message, reaction=[ReactionTypeEmoji(emoji="👀")])
    await bot.answer_callback_query(talk["callback_id"])
    draft = talk["draft_chat"]
    await bot.send_message_draft(draft, talk["draft_id"], text=talk["html"], parse_mode="HTML")
    await bot.send_photo(chat, FSInputFile(talk["photo"]))


async def _errors(bot: Bot, talk: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, chat in talk["troubles"].items():
        try:
            await bot.send_message(chat, name)
        except TelegramRetryAfter as err:
            found[name] = ["retry after", err.retry_after]
        except TelegramMigrateToChat as err:
            found[name] = ["ChatMigrated", "", err.migrate_to_chat_id]
        except TelegramForbiddenError as err:
            found[name] = ["Forbidden", err.message]
        except TelegramBadRequest as err:
            found[name] = ["BadRequest", err.message]
        except (TelegramServerError, ClientDecodeError):
            # A page of HTML is nothing that it can decode
            found[name] = ["server"]
    try:
        await bot.get_updates(timeout=0)
    except TelegramConflictError as err:
        found["conflict"] = ["Conflict", err.message]
    return found
