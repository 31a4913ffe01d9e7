"""ntfy channel, and the platform that builds it from the settings."""

import contextlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.cursor import CursorFile, spaced_json
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.ntfy.client import NtfyApi, path_of
from agent.channels.ntfy.events import NAME, NtfyEvent, NtfyFile, inbound_of
from agent.channels.ntfy.send import NtfySender, parts
from agent.channels.ntfy.stream import NtfyStream
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.received_files import too_large
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, NtfySettings
from agent.channels.urgent_first import MAX_WAITING, UrgentFirst, Watched, went_ahead
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_PLACE = re.compile(r"[-_A-Za-z0-9]{1,64}")
# All files of a message; until then nothing else is heard but what cannot wait
FETCH_TIMEOUT_S = 40.0
HINT = "Your answer is shown as a notification on a telephone: short plain sentences."
_ANY_TYPE = "application/octet-stream"


class _Kept(msgspec.Struct, frozen=True):
    topic: str
    since: str


class NtfyCursor:
    """Cursor: an id or a time, as the server takes them; empty at first."""

    def __init__(self, path: Path, topic: str) -> None:
        self._file = CursorFile(path, _Kept, "ntfy", spaced_json)
        self._topic = topic
        self.since = ""

    async def load(self) -> None:
        if self.since:
            return
        kept = await self._file.read()
        if kept is not None and kept.topic == self._topic and _PLACE.fullmatch(kept.since):
            self.since = kept.since

    async def advance(self, since: str) -> None:
        """Move the cursor: everything up to there is committed."""
        self.since = since
        await self._file.write(_Kept(self._topic, since))


class NtfyChannel(Channel):
    """Channel of one topic."""

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(self, api: NtfyApi, place: ChannelContext, clock: Clock) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._place = place
        self._clock = clock
        self._position = NtfyCursor(place.folder / "position.json", api.topic)
        self._questions = OpenApprovals()
        self._sending = NtfySender(api, self._questions)
        self._files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)
        # Seen again in their turn, and passed over then
        self._ahead: deque[str] = deque(maxlen=MAX_WAITING)

    async def listen(self, deliver: Deliver) -> None:
        await self._position.load()
        async with (
            self._api.stream(self._position.since) as answer,
            contextlib.aclosing(NtfyStream(answer)) as stream,
        ):
            coming = UrgentFirst(stream, self.pulse.beat, partial(self._hurry, deliver))
            async with contextlib.aclosing(coming.messages()) as events:
                async for event in events:
                    await self._take(event, deliver, coming.watched)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def _hurry(self, deliver: Deliver, event: NtfyEvent) -> None:
        """Handle a stop or an answer at once, while a file is fetched."""
        if not event.is_message:
            return
        inbound, has_files = self._inbound(event), event.attachment is not None
        if await went_ahead(inbound, self._questions, deliver, has_files=has_files):
            self._ahead.append(event.id)

    async def _take(self, event: NtfyEvent, deliver: Deliver, watched: Watched) -> None:
        if event.is_message and event.id not in self._ahead:
            inbound = self._inbound(event)
            if not self._questions.answer(inbound, has_files=event.attachment is not None):
                await deliver(await self._with_file(inbound, event.attachment, watched))
            self.pulse.beat()
        # The first time what lies there already is nobody's message
        if event.place and (event.event == "message" or not self._position.since):
            await self._position.advance(event.place)

    def _inbound(self, event: NtfyEvent) -> Inbound:
        return inbound_of(event, self._api.topic, self._clock.wall_s())

    async def _with_file(
        self, inbound: Inbound, file: NtfyFile | None, watched: Watched
    ) -> Inbound:
        if file is None:
            return inbound
        if not path_of(file.url):
            # Whatever address somebody has written there is not asked
            return replace(inbound, notes=("I do not fetch files from other places.",))
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, ["a file"])
        coming = IncomingFile("a file", partial(self._fetch, file), is_speech=False)
        async with watched():
            return await self._files.added_to(inbound, [coming])

    async def _fetch(self, file: NtfyFile) -> Attachment | str:
        if reason := too_large(file.size):
            return reason
        kind = printable_line(file.type, 100).strip()
        async with self._api.file(file.url) as answer:
            pieces = downloaded(answer, self.pulse.beat)
            return await self._place.keeping.keep(pieces, kind or _ANY_TYPE, file.name)


class Ntfy(Platform):
    """Platform of a topic that telephones subscribe to."""

    name = NtfyChannel.name
    about = "a topic that telephones subscribe to"
    is_confirmed = False
    wanted = (
        SetupKey(
            "base_url",
            "The server; empty for https://ntfy.sh",
            "ntfy.sh is everybody's; one of your own is better.",
            is_needed=False,
        ),
        SetupKey("topic", "The topic: whoever knows its name may read and write there"),
        SetupKey("token", "Its token, tk_..., where it has one", is_secret=True, is_needed=False),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return NtfyChannel(_api(channels, reach), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        api = _api(channels, reach)
        await api.may_read()
        name = await api.account()
        return f"the topic at {api.url} is ours to read{f', as {name}' if name else ''}"


PLATFORM = Ntfy()


def _wanted(channels: ChannelsSettings) -> NtfySettings:
    return channels.ntfy or NtfySettings()


def _token(wanted: NtfySettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("ntfy_token", wanted.token, wanted.token_file, environ)


def _api(channels: ChannelsSettings, reach: PlatformContext) -> NtfyApi:
    wanted = _wanted(channels)
    if not wanted.topic:
        raise ConfigRefused(
            "channels.ntfy has no topic: choose one that nobody guesses (`openssl rand -hex "
            "12`); everybody who knows it can read and write there"
        )
    return NtfyApi(wanted.base_url, wanted.topic, _token(wanted, reach.environ), reach.http)
