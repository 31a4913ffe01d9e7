"""DingTalk as a channel: what its robot is told on its way in."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.dingtalk import events, words
from agent.channels.dingtalk.api import DingTalkApi
from agent.channels.dingtalk.connection import Connection
from agent.channels.dingtalk.events import NAME, File, Message
from agent.channels.dingtalk.sending import Hooks, Sending
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import DingTalkSettings
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound

# All files of a message; what is said meanwhile waits, save what stops the agent
FETCH_TIMEOUT_S = 40.0
HINT = (
    "Your answer is shown in a chat of DingTalk: short paragraphs, bold, lists and links; code and "
    "tables are shown as plain text."
)


class DingTalkChannel(Channel):
    """One app's robot."""

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(
        self, api: DingTalkApi, settings: DingTalkSettings, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = settings.groups
        self._place = place
        self._clock = clock
        self._questions = OpenQuestions()
        self._hooks = Hooks(clock)
        self._sending = Sending(api, self._hooks, self._questions, place.folder)
        self._connection = Connection(api, self.pulse, clock)
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        await self._connection.run(partial(self._take, deliver), partial(self._hurry, deliver))

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return words.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    def _understood(self, message: Message) -> tuple[Inbound, tuple[File, ...]] | None:
        """None of what is nothing for us."""
        if not events.is_for_us(message, self._groups):
            return None
        content = events.content_of(message)
        inbound = events.understood(message, content, self._clock.wall_s())
        if message.session_webhook:
            self._hooks.remember(
                inbound.reply_target, message.session_webhook, message.hook_lasts_s
            )
        return inbound, content.files

    async def _hurry(self, deliver: Deliver, message: Message) -> bool:
        """Take what stops the agent, answers a question, or is nothing for us."""
        found = self._understood(message)
        if found is None or self._questions.answer(found[0]):
            return True
        if not is_urgent(found[0].text):
            return False
        await deliver(found[0])
        return True

    async def _take(self, deliver: Deliver, message: Message) -> None:
        if (found := self._understood(message)) is not None:
            await deliver(await self._with_files(*found))

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...]) -> Inbound:
        if not files:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            lines = [inbound.text, *(f"[{file.what} that was not fetched]" for file in files)]
            return replace(inbound, text="\n".join(line for line in lines if line))
        coming = [Coming(file.what, partial(self._fetch, file), _is_speech) for file in files]
        return await self._files.added_to(inbound, coming)

    async def _fetch(self, file: File) -> Attachment | str:
        async with self._api.download(file.code) as answer:
            media_type = file.media_type(answer.header("content-type"))
            async with contextlib.aclosing(self._pieces(answer)) as pieces:
                return await self._place.keeping.keep(pieces, media_type, file.name)

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        try:
            while piece := await answer.read():
                self.pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")
