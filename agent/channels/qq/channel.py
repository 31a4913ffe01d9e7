"""QQ channel, and the platform that builds it from the settings."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.opcodes.gateway import GatewayClient
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.qq.client import QqApi
from agent.channels.qq.events import NAME, Groups
from agent.channels.qq.receive import QqDialect, QqReceiver, QqReceiverParts
from agent.channels.qq.reply_windows import QqWindows
from agent.channels.qq.send import QqSender, parts
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, QqSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Address, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

HINT = (
    "Your answer is shown in QQ as plain text: short paragraphs, no Markdown, and no addresses of "
    "pages, which it refuses."
)
GROUP_STOP = (
    "QQ tells me only what mentions me, unless the owner of a group lets me receive all messages: "
    "mention me with `/stop` and `/estop` too."
)


class QqChannel(Channel):
    """Channel of one bot.

    Args:
        windows: what may be answered, kept over restarts.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        upload_s=UPLOAD_TIMEOUT_S,
        takes_files=True,
        asks=True,
        answers_only=True,
        group_stop=GROUP_STOP,
    )

    def __init__(
        self, api: QqApi, groups: Groups, windows: QqWindows, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        questions = OpenApprovals()
        self._sending = QqSender(api, windows, questions)
        path = place.folder / "session.json"
        gateway = GatewayClient(QqDialect(api), path, self.pulse, clock)
        ears = QqReceiverParts(api, gateway, windows, questions, place, groups)
        self._listening = QqReceiver(ears, self.pulse, clock)

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def attends(self, message: Outbound) -> bool:
        """Return true if it can be sent: the platform takes only answers to messages."""
        return self._sending.may_go(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)


async def identify(api: QqApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("GET", "/users/@me")
    # Whether it can hear is not its name's to say
    await QqDialect(api).address(None)
    name = printable_line(str(me.get("username", "")), 64)
    return f"{name or 'a bot'} (id {printable_line(str(me.get('id', '')), 32)}) is there"


_APP_ID = re.compile(r"[0-9]{1,32}")


class Qq(Platform):
    """Platform of an official bot of QQ."""

    name = QqChannel.name
    about = "a bot on QQ, for private messages, groups and guilds"
    is_confirmed = False
    wanted = (
        SetupKey("app_id", "The bot's AppID", "A number, on the bot's page at https://q.qq.com"),
        SetupKey("app_secret", "Its AppSecret", "Beside it; it is shown once", is_secret=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted, place = _wanted(channels), channel_context(self.name, channels, reach)
        api = _api(channels, reach)
        windows = QqWindows(place.folder / "windows.json", api.app_id, reach.clock)
        return QqChannel(api, wanted.groups, windows, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Qq()


def _wanted(channels: ChannelsSettings) -> QqSettings:
    return channels.qq or QqSettings()


def _secret(wanted: QqSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("qq_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _api(channels: ChannelsSettings, reach: PlatformContext) -> QqApi:
    """Return the configured bot.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _APP_ID.fullmatch(wanted.app_id) or not secret:
        raise ConfigRefused(
            "channels.qq needs app_id and app_secret: make a bot at https://q.qq.com and set "
            "app_secret_file or app_secret, or BARNACLE_QQ_APP_SECRET"
        )
    urls = (wanted.base_url, wanted.auth_url)
    return QqApi(wanted.app_id, secret, urls, reach.http, reach.clock)
