"""Slack for the checks that every platform passes: Anna in private, in a channel, in a thread."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.received_files import ReceivedFiles
from agent.channels.settings import SlackSettings
from agent.channels.slack.client import SlackApi, SlackTokens
from agent.channels.slack.socket_mode import SlackChannel
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import Clock, SystemClock
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, Fault, SlackServer
from tests.fakes.slack_world import ANNA, DM, ME, ROOM, Json, event_call, seen
from tests.waits import wait_until

CALLED = f"<@{ME}>"


def channel_at(
    server: SlackServer,
    http: HttpClient,
    folder: Path,
    settings: SlackSettings | None = None,
    clock: Clock | None = None,
    **more: Any,
) -> SlackChannel:
    """With an agent's folder; `more` are fields of its place."""
    place = ChannelContext(
        folder / "slack", ReceivedFiles(folder / "inbox"), **({"knows": lambda _: True} | more)
    )
    api = SlackApi(SlackTokens(Secret(BOT_TOKEN), Secret(APP_TOKEN)), server.url, http)
    return SlackChannel(api, settings or SlackSettings(), place, clock or SystemClock())


class SlackPlatform:
    """One app, and Anna."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: SlackServer, http: HttpClient, folder: Path) -> None:
        self.server = server
        self._http = http
        self._folder = folder
        self._last: Json = {}
        self.channel = self.restarted()

    def restarted(self) -> SlackChannel:
        return channel_at(self.server, self._http, self._folder)

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        called = f"{CALLED} {text}" if is_group and calls else text
        self._last = self.server.world.post(ROOM if is_group else DM, ANNA, called)

    async def write_in_thread(self, text: str) -> bool:
        first = self.server.world.post(ROOM, ANNA, "the first of it")
        below = {"thread_ts": first["ts"], "parent_user_id": ANNA}
        self._last = self.server.world.post(ROOM, ANNA, f"{CALLED} {text}", **below)
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        files = [self.server.world.keep(content)]
        self.server.world.post(DM, ANNA, text, subtype="file_share", files=files)

    async def repeat(self) -> None:
        self.server.world.tell("events_api", event_call(self._last))

    def shown(self, inbound: Inbound) -> list[str]:
        place = (inbound.reply_target, inbound.thread)
        mine = self.server.world.mine()
        return [seen(one) for one in mine if (one["channel"], one.get("thread_ts")) == place]

    def files(self) -> list[bytes]:
        world = self.server.world
        return [world.files[file["id"]] for one in world.shared for file in one["files"]]

    def marks(self) -> int:
        return len(self.server.world.reactions)

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        trouble: Json = {"retry_after_s": int(retry_after_s)} if retry_after_s else {"html": 502}
        self.server.faults.append(Fault(r"chat\.postMessage", **trouble))

    def cut_listening(self) -> None:
        self.server.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await wait_until(self.asked)
        self.server.world.press(self.asked()[-1], answer.value.capitalize())

    def asked(self) -> list[Json]:
        mine = [one for one in self.server.world.mine() if "blocks" in one]
        return [one for one in mine if any(b["type"] == "actions" for b in one["blocks"])]
