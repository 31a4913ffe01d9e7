"""What qq-botpy does at a pretended QQ, and what it reads there."""

import asyncio
from types import SimpleNamespace
from typing import Any

import aiohttp
import botpy
from botpy import robot
from botpy.http import Route
from botpy.message import C2CMessage, DirectMessage, GroupMessage, Message

_TOKENS = "https://bots.qq.com"


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    # Its addresses are written into it
    Route.SCHEME, Route.DOMAIN = talk["url"].split("://")

    class Session(aiohttp.ClientSession):
        def post(self, url: str, **more: Any) -> Any:
            return super().post(url.replace(_TOKENS, talk["url"]), **more)

    robot.aiohttp = SimpleNamespace(ClientSession=Session, ClientTimeout=aiohttp.ClientTimeout)
    return asyncio.run(asyncio.wait_for(_live(talk), 40))


async def _live(talk: dict[str, Any]) -> dict[str, Any]:
    intents = botpy.Intents(public_messages=True, public_guild_messages=True, direct_message=True)
    bot = _Bot(talk, intents=intents, bot_log=False, ext_handlers=False)
    bot.told["intents"] = intents.value
    living = asyncio.ensure_future(bot.start(talk["app_id"], talk["secret"]))
    over = asyncio.ensure_future(bot.over.wait())
    await asyncio.wait([living, over], return_when=asyncio.FIRST_COMPLETED)
    if living.done():
        living.result()
    bot.told["me"] = [bot.robot.name, str(bot.robot.id)]
    living.cancel()
    await asyncio.wait([living])
    await bot.close()
    return bot.told


class _Bot(botpy.Client):
    def __init__(self, talk: dict[str, Any], **more: Any) -> None:
        super().__init__(**more)
        self._talk = talk
        self.over = asyncio.Event()
        self.told: dict[str, Any] = {"messages": [], "refused": [], "ready": 0, "resumed": 0}

    async def on_ready(self) -> None:
        self.told["ready"] += 1

    async def on_resumed(self) -> None:
        self.told["resumed"] += 1

    async def on_c2c_message_create(self, message: C2CMessage) -> None:
        files = [[one.content_type, one.filename, one.url] for one in message.attachments]
        self._note(message, message.author.user_openid, None, files)
        if message.content == "act":
            await self._act(message)
        elif message.content == "leave":
            self.over.set()

    async def on_group_at_message_create(self, message: GroupMessage) -> None:
        self._note(message, message.author.member_openid, message.group_openid)
        await message.reply(content=self._talk["content"], msg_type=0, msg_seq=1)

    async def on_at_message_create(self, message: Message) -> None:
        self._note(message, message.author.id, message.channel_id)
        await message.reply(content=self._talk["content"])

    async def on_direct_message_create(self, message: DirectMessage) -> None:
        self._note(message, message.author.id, message.guild_id)
        await message.reply(content=self._talk["content"])

    def _note(self, message: Any, person: str, place: str | None, files: Any = ()) -> None:
        known = [message.id, message.content, message.timestamp]
        self.told["messages"].append([*known, person, place, [*files]])

    async def _act(self, message: C2CMessage) -> None:
        words, person = self._talk["content"], message.author.user_openid
        await message.reply(content=words, msg_type=0, msg_seq=1)
        media = await self.api.post_c2c_file(person, file_type=1, url="http://a/picture.png")
        await message.reply(msg_type=7, media=media, msg_seq=2)
        for unasked in ({"msg_id": message.id, "msg_seq": 1}, {"msg_id": "unknown"}, {}):
            try:
                await self.api.post_c2c_message(person, content=words, **unasked)
            except RuntimeError as err:
                self.told["refused"].append([type(err).__name__, str(err)])
