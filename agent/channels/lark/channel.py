"""Lark as a channel: what it tells on its way in, and what is only a courtesy kept quiet."""

import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.lark import events, sending
from agent.channels.lark.api import LarkApi, text_in
from agent.channels.lark.connection import Connection
from agent.channels.lark.events import NAME, Event, File, Told
from agent.channels.lark.sending import Sending
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import LarkSettings
from agent.clock import Clock
from agent.errors import ChannelError, ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.printable import printable_line

_log = logging.getLogger(__name__)

# All files of a message; until then nothing else is heard
FETCH_TIMEOUT_S = 40.0
HINT = "Your answer is shown as plain text in a chat of Lark: short paragraphs, no Markdown."
# Signs that are taken away again when another takes their place
MAX_SIGNS = 1000
_SIGNS = {Mark.SEEN: "OnIt", Mark.DONE: "DONE", Mark.FAILED: "CrossMark"}
_ANY_TYPE = "application/octet-stream"


class LarkChannel(Channel):
    """One app's bot."""

    name = NAME
    abilities = Abilities(
        hint=HINT, upload_s=UPLOAD_TIMEOUT_S, shows_marks=True, takes_files=True, asks=True
    )

    def __init__(self, api: LarkApi, settings: LarkSettings, place: Place, clock: Clock) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._me = ""
        self._signs: OrderedDict[str, str] = OrderedDict()
        self._questions = OpenQuestions()
        self._sending = Sending(api, self._questions)
        self._connection = Connection(api, self.pulse, clock)
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._me, _ = await who(self._api)
        self.pulse.beat()
        await self._connection.run(partial(self._take, deliver))

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

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
            _log.info("a sign is not shown: %s", err)

    async def _take(self, deliver: Deliver, told: Told) -> None:
        kind, event = told.header.event_type, told.event
        if kind == events.PRESSED:
            self._sending.pressed(event)
        elif kind == events.MESSAGE and events.is_for_us(event, self._me, self._groups):
            await self._hear(event, deliver)

    async def _hear(self, event: Event, deliver: Deliver) -> None:
        content = events.content_of(event.message)
        inbound = events.understood(event, content, self._me, self._clock.wall_s())
        if self._questions.answer(inbound):
            return
        if content.files and self._place.knows(inbound):
            coming = [
                Coming(file.what, partial(self._fetch, inbound.message_id, file), _is_speech)
                for file in content.files
            ]
            inbound = await self._files.added_to(inbound, coming)
        elif content.files:
            # A stranger fills no disk
            lines = [
                inbound.text,
                *(f"[{file.what} that was not fetched]" for file in content.files),
            ]
            inbound = replace(inbound, text="\n".join(line for line in lines if line))
        await deliver(inbound)

    async def _fetch(self, message_id: str, file: File) -> Attachment | str:
        kind = "image" if file.kind == "image" else "file"
        path = f"/im/v1/messages/{message_id}/resources/{file.key}?type={kind}"
        async with self._api.download(path) as answer:
            media_type = printable_line(answer.header("content-type"), 100) or _ANY_TYPE
            async with contextlib.aclosing(self._pieces(answer)) as pieces:
                return await self._place.keeping.keep(pieces, media_type, file.name)

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        try:
            while piece := await answer.read():
                self.pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


async def who(api: LarkApi) -> tuple[str, str]:
    """The open id of the app's bot, and its name.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    told = (await api.call("GET", "/bot/v3/info")).get("bot")
    return text_in(told, "open_id"), printable_line(text_in(told, "app_name"), 64)


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")
