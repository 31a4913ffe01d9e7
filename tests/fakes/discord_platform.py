"""Discord for the checks that every platform passes: Anna in private, in a room and in a thread."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.discord.channel import DiscordChannel
from agent.channels.discord.client import DiscordApi
from agent.channels.discord.rate_limits import DiscordRateLimits
from agent.channels.received_files import ReceivedFiles
from agent.channels.render.plain import to_plain
from agent.channels.settings import DiscordSettings
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.discord_server import TOKEN, DiscordServer, Fault
from tests.fakes.discord_world import ANNA, BOT, DM, ROOM, THREAD, Json
from tests.waits import wait_until

COMMANDS = (("help", "what can be typed"), ("pair", "say a code"), ("stop", "break off"))
CALLED = f"<@{BOT['id']}>"


def channel_at(
    server: DiscordServer,
    http: HttpClient,
    folder: Path,
    settings: DiscordSettings | None = None,
    clock: Clock | None = None,
    **more: Any,
) -> DiscordChannel:
    """With an agent's folder; `more` are fields of its place."""
    told = {"knows": lambda _: True, "commands": COMMANDS} | more
    place = ChannelContext(folder / "discord", ReceivedFiles(folder / "inbox"), **told)
    ticking = clock or SystemClock()
    api = DiscordApi(Secret(TOKEN), server.url, http, DiscordRateLimits(ticking))
    return DiscordChannel(api, settings or DiscordSettings(), place, ticking)


class DiscordPlatform:
    """One bot, and Anna."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: DiscordServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        self.channel = self.restarted()

    def restarted(self) -> DiscordChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        called = f"{CALLED} {text}" if is_group and calls else text
        await self._say(ROOM if is_group else DM, called)

    async def write_in_thread(self, text: str) -> bool:
        await self._say(THREAD, f"{CALLED} {text}")
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        await self._say(DM, text, attachments=[self.server.world.keep(content)])

    async def _say(self, channel: str, text: str, **more: Any) -> None:
        # Who has never listened hears nothing of what was written before
        await wait_until(lambda: self.server.world.sessions)
        self._last = self.server.world.post(channel, ANNA, text, **more)

    async def repeat(self) -> None:
        self.server.world.dispatch("MESSAGE_CREATE", self._last)

    def shown(self, inbound: Inbound) -> list[str]:
        place = inbound.thread or inbound.reply_target
        mine = [one for one in self._mine() if one["channel_id"] == place and one["content"]]
        return [to_plain(one["content"]) for one in mine]

    def files(self) -> list[bytes]:
        sent = [file for one in self._mine() for file in one["attachments"]]
        return [self.server.world.files[file["id"]] for file in sent]

    def marks(self) -> int:
        return len(self.server.world.reactions)

    def typings(self) -> int:
        return len(self.server.world.typings)

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        trouble: Json = {"retry_after_s": retry_after_s} if retry_after_s else {"html": 502}
        self.server.faults.append(Fault("POST", r"/channels/\d+/messages", **trouble))

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await wait_until(self.asked)
        self.server.world.press(self.asked()[-1], answer.value.capitalize())

    def asked(self) -> list[Json]:
        return [one for one in self._mine() if one["components"]]

    def _mine(self) -> list[Json]:
        return [one for one in self.server.world.messages.values() if one["author"] is BOT]
