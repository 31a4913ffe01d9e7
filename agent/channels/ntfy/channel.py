"""ntfy as a channel: one topic that both write to, each known by what it leaves there.

A topic has no writers, only whoever may write: to the agent they are one person.
"""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.ntfy import sending
from agent.channels.ntfy.api import NtfyApi, path_of
from agent.channels.ntfy.events import NAME, Event, EventLines, File, inbound_of
from agent.channels.ntfy.position import Position
from agent.channels.ntfy.sending import Sending
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.clock import Clock
from agent.errors import ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.printable import printable_line

# A server says something every 45 s; a connection that is silent for longer is dead
SILENCE_LIMIT_S = 75.0
# All files of a message; until then nothing else is heard
FETCH_TIMEOUT_S = 40.0
HINT = "Your answer is shown as a notification on a telephone: short plain sentences."
_ANY_TYPE = "application/octet-stream"


class NtfyChannel(Channel):
    """One topic."""

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(self, api: NtfyApi, place: Place, clock: Clock) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._place = place
        self._clock = clock
        self._position = Position(place.folder / "position.json", api.topic)
        self._questions = OpenQuestions()
        self._sending = Sending(api, self._questions)
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        await self._position.load()
        async with self._api.stream(self._position.since) as answer:
            lines = EventLines()
            async for piece in self._pieces(answer):
                for event in lines.feed(piece):
                    await self._take(event, deliver)
        raise ChannelUnavailable("ntfy has ended the stream of messages")

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                piece = await answer.read(SILENCE_LIMIT_S)
            except NetworkError as err:
                raise ChannelUnavailable(f"ntfy: {err}") from err
            if not piece:
                return
            self.pulse.beat()
            yield piece

    async def _take(self, event: Event, deliver: Deliver) -> None:
        if event.is_message:
            inbound = inbound_of(event, self._api.topic, self._clock.wall_s())
            if not self._questions.answer(inbound):
                await deliver(await self._with_file(inbound, event.attachment))
            self.pulse.beat()
        # The first time what lies there already is nobody's message
        if event.place and (event.event == "message" or not self._position.since):
            await self._position.advance(event.place)

    async def _with_file(self, inbound: Inbound, file: File | None) -> Inbound:
        if file is None:
            return inbound
        if not path_of(file.url):
            # Whatever address somebody has written there is not asked
            return _with_line(inbound, "[a file elsewhere, which was not fetched]")
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return _with_line(inbound, "[a file that was not fetched]")
        coming = Coming("a file", partial(self._fetch, file), _is_speech)
        return await self._files.added_to(inbound, [coming])

    async def _fetch(self, file: File) -> Attachment | str:
        if file.size > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        kind = printable_line(file.type, 100).strip()
        async with (
            self._api.file(file.url) as answer,
            contextlib.aclosing(self._pieces(answer)) as pieces,
        ):
            return await self._place.keeping.keep(pieces, kind or _ANY_TYPE, file.name)


def _with_line(inbound: Inbound, line: str) -> Inbound:
    return replace(inbound, text=f"{inbound.text}\n{line}".strip())


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")
