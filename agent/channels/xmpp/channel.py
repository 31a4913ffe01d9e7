"""XMPP as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging
from collections.abc import Callable

from agent.channels import worded
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.incoming import IncomingFiles
from agent.channels.place import Place
from agent.channels.xmpp import sending
from agent.channels.xmpp.files import UPLOAD_TIMEOUT_S
from agent.channels.xmpp.listening import Ears, Listening
from agent.channels.xmpp.login import Login
from agent.channels.xmpp.position import Position
from agent.channels.xmpp.sending import Sending
from agent.channels.xmpp.stanzas import REACTIONS, STATES, element, within
from agent.channels.xmpp.understanding import NAME, about
from agent.clock import Clock
from agent.errors import ChannelError
from agent.http import HttpClient
from agent.messages import Address, Inbound, Outbound

_log = logging.getLogger(__name__)

# Programs show it for about half a minute
TYPING_EVERY_S = 20.0
# All files of a message; nothing else is heard meanwhile
FETCH_TIMEOUT_S = 45.0
HINT = "Your answer is shown in XMPP, as plain text: a few short paragraphs, no tables."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}


class XmppChannel(Channel):
    """One account on its server."""

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self, login: Login, rooms: tuple[str, ...], place: Place, http: HttpClient, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        position = Position(place.folder / "position.json")
        self._sending = Sending(rooms, http, place.keeping, position, clock)
        self._questions = OpenQuestions()
        files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)
        ears = Ears(self._questions, files, self._sending.files, place.knows, rooms)
        self._listening = Listening(login, ears, self._sending, self.pulse, clock)
        self._typing: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip() and not inbound.is_group:
            self._sending.drafts.show(inbound, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await worded.ask(self._questions, address, question, self.send)

    async def typing(self, inbound: Inbound) -> None:
        target = inbound.reply_target
        self._typing.add(target)
        _courtesy(lambda: self._sending.show(target, element(STATES, "composing")))

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        target = inbound.reply_target
        if mark is not Mark.SEEN and target in self._typing:
            self._typing.discard(target)
            _courtesy(lambda: self._sending.show(target, element(STATES, "active")))
        known = about(inbound.message_id, in_group=inbound.is_group)
        if known:
            sign = element(REACTIONS, "reaction", _SIGNS[mark])
            signs = within(element(REACTIONS, "reactions", id=known), [sign])
            _courtesy(lambda: self._sending.show(target, signs, is_kept=True))

    async def aclose(self) -> None:
        await self._sending.drafts.aclose()


def _courtesy(shown: Callable[[], None]) -> None:
    """Do something optional; an answer never waits for it, nor fails with it."""
    try:
        shown()
    except ChannelError as err:
        _log.info("%s", err)
