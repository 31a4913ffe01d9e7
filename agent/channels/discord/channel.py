"""Discord channel, and the platform that builds it from the settings."""

import logging
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.discord import markup
from agent.channels.discord.approvals import DiscordApprovals
from agent.channels.discord.client import DiscordApi, DiscordRefused
from agent.channels.discord.files import DiscordFiles
from agent.channels.discord.inbound import NAME
from agent.channels.discord.rate_limits import DiscordRateLimits
from agent.channels.discord.receive import DiscordDialect, DiscordReceiver, DiscordReceiverParts
from agent.channels.discord.send import DiscordDrafts, DiscordSender
from agent.channels.discord.threads import DiscordThreads, messages_in
from agent.channels.opcodes.gateway import GatewayClient
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, DiscordSettings
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# The platform shows it for ten seconds
TYPING_EVERY_S = 8.0
HINT = "Your answer is shown in Discord: short paragraphs, Markdown, no tables."
GROUP_STOP = (
    "Choose `/stop` or `/estop` here from the list of commands, or mention me with it: Discord may "
    "keep other words from me."
)
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "✅", Mark.FAILED: "⚠️"}
# Chats where the bot may not put signs that are remembered: asking again and again locks it out
MAX_PLAIN_CHATS = 1000


class DiscordChannel(Channel):
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
        group_stop=GROUP_STOP,
    )

    def __init__(
        self, api: DiscordApi, settings: DiscordSettings, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._drafts = DiscordDrafts(api, place.folder, clock)
        threads = DiscordThreads(api)
        self._sending = DiscordSender(api, self._drafts, threads)
        questions = OpenApprovals()
        self._asking = DiscordApprovals(api, questions)
        path = place.folder / "session.json"
        dialect = DiscordDialect(api, settings.groups)
        gateway = GatewayClient(dialect, path, self.pulse, clock)
        fetching = DiscordFiles(api, place, self.pulse.beat)
        parts = DiscordReceiverParts(
            api,
            gateway,
            self._asking,
            questions,
            fetching,
            threads,
            place,
            settings.groups,
        )
        self._listening = DiscordReceiver(parts, self.pulse, clock)
        self._without_signs: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        place = inbound.thread or inbound.reply_target
        await self._courtesy("POST", f"/channels/{place}/typing")

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        chat = inbound.reply_target
        is_chosen = inbound.message_id in self._listening.chosen
        # An edit has a number of its own, which is no message's
        if chat in self._without_signs or is_chosen or not inbound.message_id.isdigit():
            return
        signs = f"{messages_in(chat, inbound.thread)}/{inbound.message_id}/reactions"
        is_shown = await self._courtesy("PUT", f"{signs}/{quote(_SIGNS[mark])}/@me")
        if is_shown and mark is not Mark.SEEN:
            # A bot may have several
            await self._courtesy("DELETE", f"{signs}/{quote(_SIGNS[Mark.SEEN])}/@me")
        elif not is_shown and len(self._without_signs) < MAX_PLAIN_CHATS:
            self._without_signs.add(chat)

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, method: str, path: str) -> bool:
        """Do something optional; an answer never waits for it."""
        try:
            await self._api.call(method, path)
        except ChannelError as err:
            _log.info("discord: request failed (reason=%s)", err)
            return not (isinstance(err, DiscordRefused) and err.is_forbidden)
        return True


async def identify(api: DiscordApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    from agent.text.printable import printable_line  # noqa: PLC0415 - who listens needs it not

    me = await api.call("GET", "/users/@me")
    told = me if isinstance(me, dict) else {}
    name = printable_line(str(told.get("username", "")), 64)
    return f"@{name} (id {printable_line(str(told.get('id', '')), 20)}) is there"


# It goes into a header: nothing else may be smuggled in with it
_BOT_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}\.[A-Za-z0-9_-]{1,100}\.[A-Za-z0-9_-]{1,200}")


class Discord(Platform):
    """Platform of a bot in Discord."""

    name = DiscordChannel.name
    about = "a bot that people write to, in private and in servers"
    is_confirmed = False
    wanted = (
        SetupKey(
            "token",
            "The bot's token",
            "At discord.com/developers make an application; its page Bot gives a token. Switch on "
            "Message Content Intent there.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return DiscordChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Discord()


def _wanted(channels: ChannelsSettings) -> DiscordSettings:
    return channels.discord or DiscordSettings()


def _api(channels: ChannelsSettings, reach: PlatformContext) -> DiscordApi:
    """Return the configured bot.

    Raises:
        ConfigRefused: there is no token, or none that is one.
    """
    wanted = _wanted(channels)
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.discord has no token: make an application at "
            "https://discord.com/developers/applications, reset the token on its page Bot, and set "
            "token_file or token, or BARNACLE_DISCORD_TOKEN"
        )
    return DiscordApi(token, wanted.base_url, reach.http, DiscordRateLimits(reach.clock))


def _token(wanted: DiscordSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("discord_token", wanted.token, wanted.token_file, environ)
    if token and not _BOT_TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            'invalid channels.discord.token: expected three parts with points between (omit "Bot")'
        )
    return token
