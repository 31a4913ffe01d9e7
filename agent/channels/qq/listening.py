"""Messages of QQ's gateway on their way in: each opens what it may be answered by, and is heard.

What stops the agent, and what answers a question, does not wait for files.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.opcodes.gateway import Gateway
from agent.channels.opcodes.session import Begun
from agent.channels.place import Place
from agent.channels.qq.api import QqApi
from agent.channels.qq.events import KINDS, File, Groups, Message, files_of, understood
from agent.channels.qq.windows import Windows
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import BarnacleError, ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Attachment, Inbound
from agent.printable import printable_text

_log = logging.getLogger(__name__)

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 40.0
# What the platform understood of something spoken
MAX_SPEECH_CHARS = 8000
# More than are said while files are fetched
MAX_AHEAD = 1000


@dataclass(frozen=True, slots=True)
class Ears:
    """Parts that a message passes on its way in."""

    api: QqApi
    gateway: Gateway
    windows: Windows
    questions: OpenQuestions
    place: Place
    groups: Groups


class Listening:
    """Hears for one bot."""

    def __init__(self, ears: Ears, pulse: Pulse, clock: Clock) -> None:
        self._ears = ears
        self._pulse = pulse
        self._clock = clock
        self._files = IncomingFiles(ears.place.transcriber, pulse.beat, FETCH_TIMEOUT_S)
        self._is_fetching = False
        # Heard before their turn
        self._ahead: deque[str] = deque(maxlen=MAX_AHEAD)
        self._hurrying: set[asyncio.Task[None]] = set()

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this bot listen.
        """

        async def take(name: str, told: msgspec.Raw, _: Begun) -> bool:
            return await self._take(deliver, name, told)

        def glance(name: str, told: msgspec.Raw, _: Begun) -> None:
            if self._is_fetching:
                task = asyncio.create_task(self._hurry(deliver, name, told))
                self._hurrying.add(task)
                task.add_done_callback(self._hurrying.discard)

        try:
            await self._ears.gateway.run(take, glance)
        finally:
            for task in self._hurrying:
                task.cancel()

    async def _take(self, deliver: Deliver, name: str, told: msgspec.Raw) -> bool:
        """Deliver a message; return true if it was for us."""
        found = self._read(name, told)
        if found is None:
            return False
        inbound, message = found
        if inbound.message_id not in self._ahead:
            await self._open(inbound)
            if not self._ears.questions.answer(inbound):
                await deliver(await self._with_files(inbound, files_of(message)))
        return True

    async def _hurry(self, deliver: Deliver, name: str, told: msgspec.Raw) -> None:
        """Deliver what cannot wait; the rest comes again in its turn."""
        found = self._read(name, told)
        if found is None:
            return
        inbound, _ = found
        try:
            if not self._ears.questions.answer(inbound):
                if not is_urgent(inbound.text):
                    return
                await self._open(inbound)
                await deliver(inbound)
            self._ahead.append(inbound.message_id)
        except BarnacleError as err:
            _log.info("it is heard in its turn: %s", err)

    async def _open(self, inbound: Inbound) -> None:
        is_known = self._ears.place.knows(inbound)
        await self._ears.windows.open(inbound.reply_target, inbound.message_id, is_known=is_known)

    def _read(self, name: str, told: msgspec.Raw) -> tuple[Inbound, Message] | None:
        kind = KINDS.get(name)
        if kind is None:
            return None
        try:
            message = msgspec.json.decode(told, type=Message)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            # Its words stay out of the log: they are a person's
            _log.warning("a message of QQ is not as documented: %s", err)
            return None
        inbound = understood(message, kind, self._clock.wall_s())
        if inbound is None or (inbound.is_group and self._ears.groups == "off"):
            return None
        return inbound, message

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...]) -> Inbound:
        spoken = [_spoken(file) for file in files if file.is_speech and file.asr_refer_text]
        others = [file for file in files if not (file.is_speech and file.asr_refer_text)]
        if others and self._ears.place.knows(inbound):
            coming = [
                Coming(one.called, partial(self._fetch, one), partial(_is_speech, one))
                for one in others
            ]
            self._is_fetching = True
            try:
                inbound = await self._files.added_to(inbound, coming)
            finally:
                self._is_fetching = False
        else:
            # A stranger fills no disk
            spoken.extend(f"[{one.called} that was not fetched]" for one in others)
        return replace(inbound, text="\n".join(line for line in [inbound.text, *spoken] if line))

    async def _fetch(self, file: File) -> Attachment | str:
        if file.size > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        async with (
            self._ears.api.download(file.address) as answer,
            contextlib.aclosing(self._pieces(answer)) as pieces,
        ):
            return await self._ears.place.keeping.keep(pieces, file.media_type, file.filename)

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        try:
            while piece := await answer.read():
                self._pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def _spoken(file: File) -> str:
    """Return the platform's own transcript."""
    words = printable_text(file.asr_refer_text, MAX_SPEECH_CHARS).strip()
    return f"{words}\n[spoken; QQ wrote it down]"


def _is_speech(file: File, _kept: Attachment) -> bool:
    return file.is_speech
