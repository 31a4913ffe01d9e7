"""DingTalk channel, and the platform that builds it from the settings."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.dingtalk import events, markup
from agent.channels.dingtalk.client import DingTalkApi
from agent.channels.dingtalk.events import NAME, DingTalkFile, DingTalkMessage
from agent.channels.dingtalk.receive import DingTalkReceiver
from agent.channels.dingtalk.send import DingTalkSender, SessionWebhooks
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, DingTalkSettings
from agent.channels.urgent_first import went_ahead
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.system.clock import Clock

# All files of a message; what is said meanwhile waits, save what stops the agent
FETCH_TIMEOUT_S = 40.0
HINT = (
    "Your answer is shown in a chat of DingTalk: short paragraphs, bold, lists and links; code and "
    "tables are shown as plain text."
)
GROUP_STOP = (
    "DingTalk tells me only what mentions me: here `/stop` and `/estop` need the mention too."
)


class DingTalkChannel(Channel):
    """Channel of one app's robot."""

    name = NAME
    abilities = Abilities(
        hint=HINT,
        upload_s=UPLOAD_TIMEOUT_S,
        takes_files=True,
        asks=True,
        group_stop=GROUP_STOP,
    )

    def __init__(
        self, api: DingTalkApi, settings: DingTalkSettings, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._questions = OpenApprovals()
        self._hooks = SessionWebhooks(clock)
        self._sending = DingTalkSender(api, self._hooks, self._questions, place.folder)
        self._connection = DingTalkReceiver(api, self.pulse, clock)
        self._files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        await self._connection.run(partial(self._take, deliver), partial(self._hurry, deliver))

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    def _understood(
        self, message: DingTalkMessage
    ) -> tuple[Inbound, tuple[DingTalkFile, ...]] | None:
        """Convert the message; None if it is not for us."""
        if not events.is_for_us(message, self._groups):
            return None
        content = events.content_of(message)
        inbound = events.understood(message, content, self._clock.wall_s())
        if message.session_webhook:
            self._hooks.remember(
                inbound.reply_target, message.session_webhook, message.hook_lasts_s
            )
        return inbound, content.files

    async def _hurry(self, deliver: Deliver, message: DingTalkMessage) -> bool:
        """Handle a stop or an answer at once; return true if the message needs nothing more."""
        if (found := self._understood(message)) is None:
            return True
        inbound, files = found
        return await went_ahead(inbound, self._questions, deliver, has_files=bool(files))

    async def _take(self, deliver: Deliver, message: DingTalkMessage) -> None:
        if (found := self._understood(message)) is not None:
            await deliver(await self._with_files(*found))

    async def _with_files(self, inbound: Inbound, files: tuple[DingTalkFile, ...]) -> Inbound:
        if not files:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [file.what for file in files])
        coming = [
            IncomingFile(file.what, partial(self._fetch, file), file.is_speech) for file in files
        ]
        return await self._files.added_to(inbound, coming)

    async def _fetch(self, file: DingTalkFile) -> Attachment | str:
        async with self._api.download(file.code) as answer:
            media_type = file.media_type(answer.header("content-type"))
            pieces = downloaded(answer, self.pulse.beat)
            return await self._place.keeping.keep(pieces, media_type, file.name)


_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class DingTalk(Platform):
    """Platform of a robot in DingTalk."""

    name = DingTalkChannel.name
    about = "a robot in DingTalk, by Stream mode"
    is_confirmed = False
    wanted = (
        SetupKey("client_id", "The app's Client ID", "ding..., on the app's page Credentials"),
        SetupKey("client_secret", "The app's Client Secret", "beside it", is_secret=True),
        SetupKey(
            "base_url",
            "Its address, https://api.dingtalk.io for organisations outside China",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return DingTalkChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        api = _api(channels, reach)
        await api.check()
        # Whether messages can come is not the token's to say
        await api.endpoint()
        return f"the app {api.client_id} is there, and hears by Stream mode"


PLATFORM = DingTalk()


def _wanted(channels: ChannelsSettings) -> DingTalkSettings:
    return channels.dingtalk or DingTalkSettings()


def _secret(wanted: DingTalkSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret(
        "dingtalk_client_secret", wanted.client_secret, wanted.client_secret_file, environ
    )


def _api(channels: ChannelsSettings, reach: PlatformContext) -> DingTalkApi:
    """Return the configured app.

    Raises:
        ConfigRefused: it is not told which.
    """
    wanted = _wanted(channels)
    secret = _secret(wanted, reach.environ)
    if not _CLIENT_ID.fullmatch(wanted.client_id) or not secret:
        raise ConfigRefused(
            "channels.dingtalk needs client_id and client_secret: make an app with a robot "
            "at https://open-dev.dingtalk.com and set client_secret_file or client_secret, "
            "or BARNACLE_DINGTALK_CLIENT_SECRET"
        )
    return DingTalkApi(wanted.client_id, secret, wanted.base_url, reach.http, reach.clock)
