"""Connection of one client: events come, and each transcript is answered by a turn.

The protocol gives answers no number, so they are told in order; `ping` and `describe` do not wait.
"""

import asyncio
import logging
import secrets

from agent.gateway.assistants import models
from agent.gateway.assistants.asked import MAX_ID_CHARS, Asked
from agent.gateway.assistants.desk import AssistantDesk, OpenRequest
from agent.gateway.assistants.pending import AnswerPieces
from agent.gateway.assistants.refusals import RequestRefused
from agent.gateway.assistants.wyoming.clients import WyomingCaller, unpaired_text
from agent.gateway.assistants.wyoming.description import described
from agent.gateway.assistants.wyoming.spoken import SpokenText
from agent.net.wyoming import (
    WireRefused,
    WyomingEvent,
    read_event,
    write_event,
)
from agent.text.echo import OwnSpeech, is_repeated

_log = logging.getLogger(__name__)

# Nobody says more in one breath, and the wire has room for it
MAX_TEXT_CHARS = 10_000
# What a client has said and waits for; more of it is left on the line
_WAITING = 2
_ID_BYTES = 8
SILENCE_TEXT = "Nothing was said."
ECHO_TEXT = "Those were my own words, so I did nothing."
TOO_LONG_TEXT = f"That is longer than {MAX_TEXT_CHARS} characters."


class WyomingConnection:
    """Talk with one client.

    Args:
        client: its address.
        own: what was said lately in the rooms of all clients.
    """

    def __init__(
        self,
        desk: AssistantDesk,
        client: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        own: OwnSpeech,
    ) -> None:
        self._desk = desk
        self._own = own
        self._client = client
        self._reader = reader
        self._writer = writer
        self._said: asyncio.Queue[WyomingEvent] = asyncio.Queue(_WAITING)
        # Of whoever names none
        self._conversation = secrets.token_hex(_ID_BYTES)

    async def run(self) -> None:
        """Talk until the client leaves; a turn that has begun goes on without it."""
        reading = asyncio.ensure_future(self._read_all())
        answering = asyncio.ensure_future(self._answer_all())
        both = {reading, answering}
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.wait(both)
        for one in done:
            one.result()

    async def _read_all(self) -> None:
        try:
            while (event := await read_event(self._reader)) is not None:
                await self._take(event)
        except WireRefused as err:
            await self._write("error", text=str(err), code="bad-event")

    async def _take(self, event: WyomingEvent) -> None:
        """Answer what needs no turn; events that mean nothing here are dropped, as is usual."""
        match event.type:
            case "describe":
                await write_event(self._writer, described(self._desk.name))
            case "ping":
                await self._write("pong", text=event.text("text"))
            case "transcript":
                await self._said.put(event)

    async def _answer_all(self) -> None:
        while True:
            await self._answer(await self._said.get())

    async def _answer(self, said: WyomingEvent) -> None:
        context = said.data.get("context")
        given = WyomingEvent("context", context if isinstance(context, dict) else {})
        conversation = given.text("conversation_id") or self._conversation
        told = {"conversation_id": conversation}
        try:
            self._refuse_echo(said.text("text"))
            caller = self._caller(given.text("request_id"))
            asked = self._asked(said.text("text"), conversation, caller)
            # Whoever sends it again may come by another connection
            body = f"{given.text('conversation_id')}\n{asked.text}".encode()
            async with self._desk.opened(asked, caller, body) as opened:
                await self._tell(opened, told)
        except RequestRefused as err:
            self._own.note(str(err))
            await self._write("not-handled", text=str(err), context=told)

    def _refuse_echo(self, text: str) -> None:
        """Refuse what the agent itself has just said."""
        if not self._own.repeats(text):
            return
        _log.info("wyoming: own words heard, dropped (from=%s)", self._client)
        # That sentence is heard, too, and would be said again and again
        raise RequestRefused(409, "" if is_repeated(text, ECHO_TEXT) else ECHO_TEXT)

    def _caller(self, request_id: str) -> WyomingCaller:
        person = self._desk.person(self._client)
        if person is None:
            raise RequestRefused(401, unpaired_text(self._client))
        headers = {"idempotency-key": request_id} if request_id else {}
        return WyomingCaller(person, self._client, headers)

    def _asked(self, text: str, conversation: str, caller: WyomingCaller) -> Asked:
        if not text.strip():
            raise RequestRefused(400, SILENCE_TEXT)
        if len(text) > MAX_TEXT_CHARS:
            raise RequestRefused(413, TOO_LONG_TEXT)
        if len(conversation) > MAX_ID_CHARS:
            raise RequestRefused(400, f"conversation_id is longer than {MAX_ID_CHARS} characters")
        own, _ = models.names_for(self._desk.name, caller.person.rank)
        return Asked(model=own, text=text, conversation=conversation, is_spoken=True)

    async def _tell(self, opened: OpenRequest, context: dict[str, str]) -> None:
        """Tell the answer while it grows, and whole: most clients read the whole one alone."""
        pieces, spoken = AnswerPieces(), SpokenText()
        has_begun = False
        async for _ in self._desk.beats(opened):
            if piece := spoken.grow(pieces.next(opened.pending)):
                self._own.note(piece)
                if not has_begun:
                    has_begun = True
                    await self._write("handled-start", context=context)
                await self._write("handled-chunk", text=piece)
        piece = spoken.grow(pieces.next(opened.pending)) + spoken.end()
        self._own.note(spoken.whole)
        if has_begun and piece:
            await self._write("handled-chunk", text=piece)
        await self._write("handled", text=spoken.whole, context=context)
        if has_begun:
            await self._write("handled-stop")

    async def _write(self, kind: str, **data: object) -> None:
        await write_event(self._writer, WyomingEvent(kind, data))
