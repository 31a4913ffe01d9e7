"""iMessage as a channel: a BlueBubbles server on a Mac, asked every few seconds for what is new.

It could push as well, but to an address that it reaches, and only once: what is asked for is there
however long the agent was away.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from agent.channels import worded
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.imessage import sending
from agent.channels.imessage.api import UPLOAD_TIMEOUT_S, BlueBubblesApi
from agent.channels.imessage.events import NAME, File, Message, understood
from agent.channels.imessage.position import Position
from agent.channels.imessage.sending import Sending
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.place import Place
from agent.channels.settings import ImessageSettings
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import BarnacleError, ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.printable import printable_line

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
    """One account of Apple's, on one Mac."""

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(
        self,
        api: BlueBubblesApi,
        settings: ImessageSettings,
        place: Place,
        clock: Clock,
        every_s: float = EVERY_S,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._every_s = every_s
        self._position = Position(place.folder / "position.json", settings.base_url)
        self._questions = OpenQuestions()
        self._sending = Sending(api, self._position, place.folder)
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._sending.forget_method()
        if not await self._position.load():
            newest = await self._api.newest()
            await self._position.begin(*((newest.row, newest.at_ms) if newest else (0, 0)))
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

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        put = partial(self._sending.question, question=question)
        return await worded.ask(self._questions, address, question, put)

    async def _take(self, message: Message, deliver: Deliver) -> None:
        inbound = self._heard(message)
        if inbound is not None:
            async with self._watched(message.guid, deliver):
                inbound = await self._with_files(inbound, message.attachments)
            await deliver(inbound)
            self.pulse.beat()
        self._position.note(message.guid, message.row)
        if inbound is not None:
            await self._position.save()

    @contextlib.asynccontextmanager
    async def _watched(self, guid: str, deliver: Deliver) -> AsyncIterator[None]:
        """The block, which is about that message, does not keep waiting what cannot wait."""
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
            _log.info("nothing is heard while a file is fetched: %s", err)

    async def _hurry(self, message: Message, deliver: Deliver) -> None:
        inbound = self._heard(message)
        if inbound is not None:
            if not is_urgent(inbound.text):
                return
            await deliver(inbound)
        # What stands before it is still to be read
        self._position.note(message.guid, 0)
        await self._position.save()

    def _heard(self, message: Message) -> Inbound | None:
        """None of what is nobody's order, or has answered a question by now."""
        heard = understood(message, self._clock.wall_s())
        if heard is None or self._position.is_old(message.at_ms):
            return None
        if self._questions.answer(heard.inbound):
            return None
        is_for_us = heard.calls_us if self._groups == "mention" else self._groups == "all"
        return heard.inbound if is_for_us or not heard.inbound.is_group else None

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...]) -> Inbound:
        if not files:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return replace(inbound, text=f"{inbound.text}\n[a file that was not fetched]".strip())
        coming = [Coming("a file", partial(self._fetch, one), _is_speech) for one in files]
        return await self._files.added_to(inbound, coming[:MAX_FILES])

    async def _fetch(self, file: File) -> Attachment | str:
        if (file.total_bytes or 0) > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        for _ in range(FETCH_TRIES - 1):
            with contextlib.suppress(ChannelUnavailable):
                return await self._downloaded(file)
            await self._clock.sleep(self._every_s)
        return await self._downloaded(file)

    async def _downloaded(self, file: File) -> Attachment | str:
        async with self._api.download(file.guid) as answer:
            # The server makes a JPEG of what only Apple's programs show
            kind = printable_line(answer.header("content-type") or file.mime_type or _ANY_TYPE, 100)
            return await self._place.keeping.keep(self._pieces(answer), kind, file.name or "")

    async def _pieces(self, answer: HttpAnswer) -> AsyncIterator[bytes]:
        try:
            while piece := await answer.read():
                self.pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


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


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")
