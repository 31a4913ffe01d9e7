"""WhatsApp as a channel: posts come in by the gateway, answers go out by the Graph API.

The platform is told that a message was taken when it is committed with its files, never before;
until then it posts it again, for days. Nothing can be changed once it is sent, so no draft is.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Question
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.ledger import Ledger
from agent.channels.place import Place
from agent.channels.pushed import Answered, Push
from agent.channels.urgency import is_urgent
from agent.channels.whatsapp import events, sending, signing
from agent.channels.whatsapp.api import UPLOAD_TIMEOUT_S, WhatsAppApi
from agent.channels.whatsapp.events import FILES, Media, Said, Status
from agent.channels.whatsapp.failures import in_words, is_window_over
from agent.channels.whatsapp.sending import Sending
from agent.channels.whatsapp.windows import Windows
from agent.clock import Clock
from agent.config import Secret
from agent.errors import ChannelError, ChannelUnavailable, NetworkError, StorageFull
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.printable import printable_line

_log = logging.getLogger(__name__)

PATH = "/whatsapp"
# The platform comes again by itself, later each time
AGAIN_S = 5
# All files of a message; who posted it has gone by then, and finds it kept when it comes again
FETCH_TIMEOUT_S = 40.0
# It is shown for 25 s, or until a message comes
TYPING_EVERY_S = 20.0
HINT = "Your answer is shown in WhatsApp, as plain text: short paragraphs, no tables."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "✅", Mark.FAILED: "❌"}
_TAKEN = Answered(200, "taken")
_NOT_NOW = Answered(503, "nobody listens now", AGAIN_S)


@dataclass(frozen=True, slots=True)
class House:
    """Parts that the channel is made with.

    Args:
        app_secret: signs what is posted.
    """

    app_secret: Secret
    ledger: Ledger
    windows: Windows
    place: Place
    clock: Clock


class WhatsAppChannel(Channel):
    """One business number."""

    name = events.NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_marks=True,
        takes_files=True,
        asks=True,
        answers_only=True,
    )
    path = PATH

    def __init__(self, api: WhatsAppApi, house: House) -> None:
        self._api = api
        self._house = house
        self._place = house.place
        self._deliver: Deliver | None = None
        self._is_closed = False
        # What cannot wait, and everything else, in the order in which it came
        self._at_once = asyncio.Lock()
        self._in_turn = asyncio.Lock()
        self._questions = OpenQuestions()
        self._sending = Sending(api, house.windows, self._questions)
        self._files = IncomingFiles(house.place.transcriber, lambda: None, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    def challenge(self, query: bytes) -> Answered:
        return signing.challenged(query, signing.verify_token(self._house.app_secret.reveal()))

    def refusal(self, headers: Mapping[str, str]) -> Answered | None:
        return signing.refusal(headers)

    async def push(self, push: Push) -> Answered:
        if not signing.is_true(self._house.app_secret.reveal(), push.headers, push.body):
            return Answered(401, "no signature is over this body")
        try:
            told = tuple(events.read(push.body, self._api.number_id))
        except ValueError as err:
            # It is the platform's own, and would come again for days
            _log.warning("%s", err)
            return _TAKEN
        try:
            return await self._take(told)
        except StorageFull:
            return Answered(503, "there is no room to keep it", AGAIN_S)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def attends(self, message: Outbound) -> bool:
        """Return true if they wrote lately; the platform takes nothing for anybody else."""
        return self._house.windows.is_open(message.recipient)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        """Shows that it was read, too: the platform knows one only with the other."""
        read = {"status": "read", "message_id": inbound.message_id}
        await self._courtesy({**read, "typing_indicator": {"type": "text"}})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        sign = {"message_id": inbound.message_id, "emoji": _SIGNS[mark]}
        to = sending.to(inbound.reply_target)
        await self._courtesy({**to, "type": "reaction", "reaction": sign})

    async def aclose(self) -> None:
        # Not before the message that is being kept
        async with self._in_turn, self._at_once:
            if not self._is_closed:
                self._is_closed = True
                await self._house.ledger.aclose()

    async def _courtesy(self, message: Mapping[str, object]) -> None:
        try:
            await self._api.send(message)
        except ChannelError as err:
            _log.info("%s", err)

    async def _take(self, told: Sequence[Said | Status]) -> Answered:
        """Each message of a post is on record by itself: of one cut short the rest comes again."""
        said = [one for one in told if isinstance(one, Said)]
        async with self._at_once:
            if not self._listens():
                return _NOT_NOW
            if wait_s := await self._house.ledger.wait_s():
                return Answered(429, "too many messages", math.ceil(wait_s))
            waiting = [one for one in said if not await self._has(one, self._hurry)]
        for status in (one for one in told if isinstance(one, Status)):
            await self._note(status)
        if waiting:
            async with self._in_turn:
                if not self._listens():
                    return _NOT_NOW
                for one in waiting:
                    await self._has(one, self._hear)
        return _TAKEN

    def _listens(self) -> bool:
        return self._deliver is not None and not self._is_closed

    async def _has(self, said: Said, take: Callable[[Said, Deliver], Awaitable[bool]]) -> bool:
        """Keep a message if it is new; return true if it is kept by now."""
        ledger, deliver = self._house.ledger, self._deliver
        known = said.message.id
        if deliver is None:
            return False
        if await ledger.answered(known) is not None:
            return True
        if not await take(said, deliver):
            return False
        await ledger.keep(known, _TAKEN)
        return True

    async def _hurry(self, said: Said, deliver: Deliver) -> bool:
        """Deliver it at once if it needs no file; return true if it was delivered."""
        inbound = events.inbound_of(said, self._house.clock.wall_s())
        if inbound is None:
            _log.info("whatsapp: %s is no message", printable_line(said.message.type, 30))
            return True
        await self._open(inbound)
        if pressed := said.message.pressed:
            if not self._sending.press(inbound.address, pressed):
                await self._tell(inbound, "This question is not open for you.")
        elif not self._questions.answer(inbound):
            if not is_urgent(inbound.text):
                return False
            await deliver(inbound)
        return True

    async def _open(self, inbound: Inbound) -> None:
        said_at_s = inbound.sent_at_s or inbound.received_at_s
        is_known = self._place.knows(inbound)
        await self._house.windows.open(inbound.reply_target, said_at_s, is_known=is_known)

    async def _hear(self, said: Said, deliver: Deliver) -> bool:
        inbound = events.inbound_of(said, self._house.clock.wall_s())
        if inbound is not None:
            await deliver(await self._with_file(inbound, said.message.type, said.message.media))
        return True

    async def _tell(self, inbound: Inbound, text: str) -> None:
        try:
            await self._sending.say(inbound.reply_target, text)
        except ChannelError as err:
            _log.info("%s", err)

    async def _note(self, status: Status) -> None:
        """Report a message that was taken and did not arrive: nobody else knows."""
        if status.status != "failed":
            return
        why = "; ".join(in_words(one.code) for one in status.errors[:3])
        _log.warning("whatsapp: a message did not arrive: %s", why or "no reason is given")
        if any(is_window_over(one.code) for one in status.errors):
            await self._house.windows.close(status.recipient_id, events.time_of(status.timestamp))

    async def _with_file(self, inbound: Inbound, kind: str, media: Media | None) -> Inbound:
        if media is None:
            return inbound
        what = FILES.get(kind, "a file")
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return replace(inbound, text=f"{inbound.text}\n[{what} that was not fetched]".strip())
        coming = Coming(what, partial(self._fetch, media), lambda _kept: media.voice)
        return await self._files.added_to(inbound, [coming])

    async def _fetch(self, media: Media) -> Attachment | str:
        async with (
            self._api.media(media.id) as answer,
            contextlib.aclosing(_pieces(answer)) as pieces,
        ):
            kind = printable_line(media.mime_type, 100).strip() or "application/octet-stream"
            return await self._place.keeping.keep(pieces, kind, media.filename)


async def _pieces(answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
    try:
        while piece := await answer.read():
            yield piece
    except NetworkError as err:
        raise ChannelUnavailable(str(err)) from err
