"""Mattermost channel, and the platform that builds it from the settings."""

import logging
import re
from collections.abc import Iterator, Mapping

from agent.channels import approvals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.mattermost.client import MattermostApi, is_id
from agent.channels.mattermost.events import MAX_NAME_CHARS, NAME
from agent.channels.mattermost.receive import MattermostReceiver, who
from agent.channels.mattermost.send import MattermostDrafts, MattermostSender, parts
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, MattermostSettings
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# Its programs show it for five seconds
TYPING_EVERY_S = 4.0
HINT = "Your answer is shown in Mattermost: short paragraphs, Markdown, tables where they help."
_SIGNS = {Mark.SEEN: "eyes", Mark.DONE: "white_check_mark", Mark.FAILED: "warning"}


class MattermostChannel(Channel):
    """Channel of one bot.

    Args:
        api: with the bot's token.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self, api: MattermostApi, settings: MattermostSettings, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._drafts = MattermostDrafts(api, place.folder, clock)
        self._sending = MattermostSender(api, self._drafts)
        self._listening = MattermostReceiver(api, place, settings.groups, self.pulse, clock)

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        async def put(message: Outbound) -> None:
            await self._sending.question(message, question)

        return await approvals.ask(self._listening.questions, address, question, put)

    async def typing(self, inbound: Inbound) -> None:
        told = {"channel_id": inbound.reply_target, "parent_id": inbound.thread or ""}
        await self._courtesy("POST", "/users/me/typing", told)

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        me = self._listening.me
        post = inbound.message_id
        if me is None or not is_id(post):
            return
        sign = {"user_id": me.id, "post_id": post, "emoji_name": _SIGNS[mark]}
        await self._courtesy("POST", "/reactions", sign)
        if mark is not Mark.SEEN:
            seen = f"/users/me/posts/{post}/reactions/{_SIGNS[Mark.SEEN]}"
            await self._courtesy("DELETE", seen)

    async def aclose(self) -> None:
        await self._drafts.aclose()

    async def _courtesy(self, method: str, path: str, body: object = None) -> None:
        """Do something optional; an answer never waits for it."""
        try:
            await self._api.call(method, path, body)
        except ChannelError as err:
            _log.info("mattermost: request failed (reason=%s)", err)


async def identify(api: MattermostApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await who(api)
    name = printable_line(me.username, MAX_NAME_CHARS)
    return f"@{name} (id {printable_line(me.id, MAX_NAME_CHARS)}) is there"


# It goes into a header: nothing else may be smuggled in with it
_TOKEN = re.compile(r"[A-Za-z0-9._-]{8,500}")


class Mattermost(Platform):
    """Platform of a bot on a Mattermost server."""

    name = MattermostChannel.name
    about = "a bot on a Mattermost server, in private, in channels and threads"
    is_confirmed = False
    wanted = (
        SetupKey("base_url", "The server, such as https://chat.example.org"),
        SetupKey(
            "token",
            "The bot's token",
            "Made under Integrations > Bot Accounts; shown once.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return MattermostChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Mattermost()


def _wanted(channels: ChannelsSettings) -> MattermostSettings:
    return channels.mattermost or MattermostSettings()


def _api(channels: ChannelsSettings, reach: PlatformContext) -> MattermostApi:
    """Return the configured bot.

    Raises:
        ConfigRefused: it cannot be used so.
    """
    wanted = _wanted(channels)
    if not wanted.base_url:
        raise ConfigRefused(
            "channels.mattermost has no base_url: set it to the server, such as "
            "https://chat.example.org"
        )
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.mattermost has no token: make a bot under Integrations > Bot Accounts, and "
            "set token_file or token, or BARNACLE_MATTERMOST_TOKEN"
        )
    return MattermostApi(token, wanted.base_url, reach.http)


def _token(wanted: MattermostSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("mattermost_token", wanted.token, wanted.token_file, environ)
    if token and not _TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            'invalid channels.mattermost.token: expected letters and digits only (omit "Bearer")'
        )
    return token
