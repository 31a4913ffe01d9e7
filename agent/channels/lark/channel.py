"""Lark channel, and the platform that builds it from the settings."""

import logging
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.lark import events
from agent.channels.lark.client import LarkApi, text_in
from agent.channels.lark.events import NAME, LarkEvent, LarkFile
from agent.channels.lark.receive import LarkReceiver
from agent.channels.lark.send import LarkSender, parts
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, LarkSettings
from agent.channels.urgent_first import Watched, went_ahead
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# All files of a message; what is said meanwhile waits, save what stops the agent
FETCH_TIMEOUT_S = 40.0
HINT = "Your answer is shown as plain text in a chat of Lark: short paragraphs, no Markdown."
# Signs that are taken away again when another takes their place
MAX_SIGNS = 1000
_SIGNS = {Mark.SEEN: "OnIt", Mark.DONE: "DONE", Mark.FAILED: "CrossMark"}
_ANY_TYPE = "application/octet-stream"


class LarkChannel(Channel):
    """Channel of one app's bot."""

    name = NAME
    abilities = Abilities(
        hint=HINT, upload_s=UPLOAD_TIMEOUT_S, shows_marks=True, takes_files=True, asks=True
    )

    def __init__(
        self, api: LarkApi, settings: LarkSettings, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._me = ""
        self._signs: OrderedDict[str, str] = OrderedDict()
        self._questions = OpenApprovals()
        self._sending = LarkSender(api, self._questions)
        self._connection = LarkReceiver(api, self.pulse, clock)
        self._files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._me, _ = await who(self._api)
        self.pulse.beat()
        await self._connection.run(partial(self._take, deliver), partial(self._hurry, deliver))

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        signs = f"/im/v1/messages/{inbound.message_id}/reactions"
        try:
            told = await self._api.call(
                "POST", signs, {"reaction_type": {"emoji_type": _SIGNS[mark]}}
            )
            if mark is Mark.SEEN:
                self._signs[inbound.message_id] = text_in(told.get("data"), "reaction_id")
                if len(self._signs) > MAX_SIGNS:
                    self._signs.popitem(last=False)
            elif before := self._signs.pop(inbound.message_id, ""):
                await self._api.call("DELETE", f"{signs}/{before}")
        except ChannelError as err:
            # An answer never waits for it
            _log.info("lark: reaction not shown (reason=%s)", err)

    def _understood(self, told: LarkEvent) -> tuple[Inbound, tuple[LarkFile, ...]] | None:
        """Convert a message; None if it is none, or not for us."""
        event, is_message = told.event, told.header.event_type == events.MESSAGE
        if not is_message or not events.is_for_us(event, self._me, self._groups):
            return None
        content = events.content_of(event.message)
        return events.understood(event, content, self._me, self._clock.wall_s()), content.files

    async def _hurry(self, deliver: Deliver, told: LarkEvent) -> bool:
        """Handle a stop or an answer at once; return true if the event needs nothing more."""
        if told.header.event_type == events.PRESSED:
            self._sending.pressed(told.event)
            return True
        if (found := self._understood(told)) is None:
            return True
        inbound, files = found
        return await went_ahead(inbound, self._questions, deliver, has_files=bool(files))

    async def _take(self, deliver: Deliver, watched: Watched, told: LarkEvent) -> None:
        if await self._hurry(deliver, told):
            return
        if (found := self._understood(told)) is not None:
            await deliver(await self._with_files(*found, watched))

    async def _with_files(
        self, inbound: Inbound, files: tuple[LarkFile, ...], watched: Watched
    ) -> Inbound:
        if not files:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [file.what for file in files])
        coming = [
            IncomingFile(file.what, partial(self._fetch, inbound.message_id, file), file.is_speech)
            for file in files
        ]
        async with watched():
            return await self._files.added_to(inbound, coming)

    async def _fetch(self, message_id: str, file: LarkFile) -> Attachment | str:
        kind = "image" if file.kind == "image" else "file"
        path = f"/im/v1/messages/{message_id}/resources/{file.key}?type={kind}"
        async with self._api.download(path) as answer:
            media_type = printable_line(answer.header("content-type"), 100) or _ANY_TYPE
            pieces = downloaded(answer, self.pulse.beat)
            return await self._place.keeping.keep(pieces, media_type, file.name)


async def who(api: LarkApi) -> tuple[str, str]:
    """Return the open id of the app's bot, and its name.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    told = (await api.call("GET", "/bot/v3/info")).get("bot")
    return text_in(told, "open_id"), printable_line(text_in(told, "app_name"), 64)


_APP_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Lark(Platform):
    """Platform of a bot in Lark."""

    name = LarkChannel.name
    about = "a bot in Lark, or Feishu as it is called in China"
    is_confirmed = False
    wanted = (
        SetupKey("app_id", "The app's id", "cli_..., on the app's page Credentials"),
        SetupKey("app_secret", "The app's secret", "beside it", is_secret=True),
        SetupKey(
            "base_url",
            "Its address, https://open.feishu.cn for Feishu",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return LarkChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        api = _api(channels, reach)
        known, name = await who(api)
        # Whether events can come is not the token's to say
        await api.endpoint()
        return f"{name or 'a bot'} (id {known}) is there"


PLATFORM = Lark()


def _wanted(channels: ChannelsSettings) -> LarkSettings:
    return channels.lark or LarkSettings()


def _secret(wanted: LarkSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("lark_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _api(channels: ChannelsSettings, reach: PlatformContext) -> LarkApi:
    """Return the configured app.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _APP_ID.fullmatch(wanted.app_id) or not secret:
        raise ConfigRefused(
            "channels.lark needs app_id and app_secret: make an app at "
            "https://open.larksuite.com/app (https://open.feishu.cn/app for Feishu) and set "
            "app_secret_file or app_secret, or BARNACLE_LARK_APP_SECRET"
        )
    return LarkApi(wanted.app_id, secret, wanted.base_url, reach.http, reach.clock)
