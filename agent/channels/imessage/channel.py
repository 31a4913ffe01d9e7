"""iMessage channel, and the platform that builds it; needs a Mac with a BlueBubbles server."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.file_stream import downloaded
from agent.channels.imessage.client import UPLOAD_TIMEOUT_S, BlueBubblesApi
from agent.channels.imessage.cursor import ImessageCursor
from agent.channels.imessage.events import NAME, ImessageFile, ImessageMessage, understood
from agent.channels.imessage.send import ImessageSender, parts
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.received_files import too_large
from agent.channels.settings import ChannelsSettings, ImessageSettings
from agent.channels.urgency import is_urgent
from agent.config import Secret
from agent.errors import BarnacleError, ChannelUnavailable, ConfigRefused
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# The Mac itself looks once a second; an answer takes longer than this to be thought of
EVERY_S = 3.0
# All files of a message; until then only what cannot wait is heard
FETCH_TIMEOUT_S = 40.0
# The Mac tells of a message before it has its files, which takes it some seconds
FETCH_TRIES = 5
# As many as are sent at once
MAX_FILES = 20
HINT = "Your answer is shown in Messages on a telephone, as plain text: no tables, no Markdown."
_ANY_TYPE = "application/octet-stream"


class ImessageChannel(Channel):
    """Channel of one Apple account, on one Mac."""

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(
        self,
        api: BlueBubblesApi,
        settings: ImessageSettings,
        place: ChannelContext,
        clock: Clock,
        every_s: float = EVERY_S,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._every_s = every_s
        self._position = ImessageCursor(place.folder / "position.json", settings.base_url)
        self._questions = OpenApprovals()
        self._sending = ImessageSender(api, self._position, place.folder)
        self._files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._sending.forget_method()
        await self._find_place()
        while True:
            position = self._position
            found = await self._api.after(position.after, position.row)
            self.pulse.beat()
            new = [one for one in found if not position.has_seen(one.guid)]
            for message in new:
                await self._take(message, deliver)
            if new:
                await position.save()
            else:
                await self._clock.sleep(self._every_s)

    async def _find_place(self) -> None:
        """Go on where this Mac was left, or begin at its newest message."""
        position = self._position
        is_known = await position.load()
        if is_known and await self._api.after(position.after, position.row):
            return
        newest = await self._api.newest()
        at = (newest.row, newest.at_ms) if newest else (0, 0)
        if not is_known:
            await position.begin(*at)
        elif at[0] < position.row and at[0] <= position.after:
            # Rows are never numbered anew: nothing would be heard until they have caught up
            _log.warning("imessage: the Mac has other messages than before, begun anew there")
            await position.begin_anew(*at)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        put = partial(self._sending.question, question=question)
        return await approvals.ask(self._questions, address, question, put)

    async def _take(self, message: ImessageMessage, deliver: Deliver) -> None:
        inbound = self._heard(message)
        if inbound is not None:
            async with self._watched(message.guid, deliver):
                inbound = await self._with_files(inbound, message)
            await deliver(inbound)
            self.pulse.beat()
        self._position.note(message.guid, message.row)
        if inbound is not None:
            await self._position.save()

    @contextlib.asynccontextmanager
    async def _watched(self, guid: str, deliver: Deliver) -> AsyncIterator[None]:
        """Deliver urgent messages while the block works on that message."""
        watching = asyncio.create_task(self._watch(guid, deliver))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _watch(self, guid: str, deliver: Deliver) -> None:
        position = self._position
        try:
            while True:
                await self._clock.sleep(self._every_s)
                for message in await self._api.after(position.after, position.row):
                    if message.guid != guid and not position.has_seen(message.guid):
                        await self._hurry(message, deliver)
        except BarnacleError as err:
            # Whoever reads on meets the same
            _log.info("imessage: cannot listen while a file is fetched (reason=%s)", err)

    async def _hurry(self, message: ImessageMessage, deliver: Deliver) -> None:
        inbound = self._heard(message)
        if inbound is not None:
            if not is_urgent(inbound.text):
                return
            await deliver(inbound)
        # What stands before it is still to be read
        self._position.note(message.guid, 0)
        await self._position.save()

    def _heard(self, message: ImessageMessage) -> Inbound | None:
        """Convert a message; None if it is not for us or has answered a question."""
        heard = understood(message, self._clock.wall_s())
        if heard is None or self._position.is_old(message.at_ms):
            return None
        if self._questions.answer(heard.inbound, has_files=bool(message.attachments)):
            return None
        is_for_us = heard.calls_us if self._groups == "mention" else self._groups == "all"
        return heard.inbound if is_for_us or not heard.inbound.is_group else None

    async def _with_files(self, inbound: Inbound, message: ImessageMessage) -> Inbound:
        if not message.attachments:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, ["a file"])
        coming = [
            IncomingFile("a file", partial(self._fetch, one), message.is_audio_message)
            for one in message.attachments
        ]
        return await self._files.added_to(inbound, coming[:MAX_FILES])

    async def _fetch(self, file: ImessageFile) -> Attachment | str:
        if reason := too_large(file.total_bytes or 0):
            return reason
        for _ in range(FETCH_TRIES - 1):
            with contextlib.suppress(ChannelUnavailable):
                return await self._downloaded(file)
            await self._clock.sleep(self._every_s)
        return await self._downloaded(file)

    async def _downloaded(self, file: ImessageFile) -> Attachment | str:
        async with self._api.download(file.guid) as answer:
            # The server makes a JPEG of what only Apple's programs show
            kind = printable_line(answer.header("content-type") or file.mime_type or _ANY_TYPE, 100)
            return await self._place.keeping.keep(
                downloaded(answer, self.pulse.beat), kind, file.name or ""
            )


async def identify(api: BlueBubblesApi) -> str:
    """Return the agent's account in a sentence.

    Raises:
        ChannelError: that cannot be known.
    """
    info = await api.info()
    account = printable_line(info.detected_imessage or info.detected_icloud or "", 100)
    version, system = printable_line(info.server_version, 20), printable_line(info.os_version, 20)
    of = f"the account {account}" if account else "an account that it does not name"
    return f"BlueBubbles {version} on macOS {system} writes for {of}, by {info.method}"


WHY = (
    "channels.imessage has no base_url: Apple lets messages go through a Mac with its own program "
    "alone, and this is none. Set it to a BlueBubbles server on a Mac, such as "
    "http://mac.local:1234, or take the table out; over Signal the agent reaches the same telephone"
)


class Imessage(Platform):
    """Platform of an Apple account on a Mac."""

    name = ImessageChannel.name
    about = "an account on a Mac, by the BlueBubbles server there"
    is_confirmed = False
    wanted = (
        SetupKey(
            "base_url",
            "The BlueBubbles server, such as http://mac.local:1234",
            "Apple lets messages go through a Mac alone: install it there, from bluebubbles.app.",
        ),
        SetupKey("password", "The password in that server's settings", is_secret=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        api, place = _api(channels, reach), channel_context(self.name, channels, reach)
        return ImessageChannel(api, _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Imessage()


def _wanted(channels: ChannelsSettings) -> ImessageSettings:
    return channels.imessage or ImessageSettings()


def _password(wanted: ImessageSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("imessage_password", wanted.password, wanted.password_file, environ)


def _api(channels: ChannelsSettings, reach: PlatformContext) -> BlueBubblesApi:
    """Return the configured server.

    Raises:
        ConfigRefused: there is none, or no password of it.
    """
    wanted = _wanted(channels)
    if not wanted.base_url:
        raise ConfigRefused(WHY)
    password = _password(wanted, reach.environ)
    if not password:
        raise ConfigRefused(
            "channels.imessage has no password: take it from the BlueBubbles server's "
            "settings and set password_file or password, or BARNACLE_IMESSAGE_PASSWORD"
        )
    return BlueBubblesApi(wanted.base_url, password, reach.http)
