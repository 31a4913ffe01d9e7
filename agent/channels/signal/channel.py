"""Signal as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging
from collections.abc import Mapping

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.place import Place
from agent.channels.settings import SignalSettings
from agent.channels.signal import letters
from agent.channels.signal.asking import Asking
from agent.channels.signal.daemon import Daemon
from agent.channels.signal.drafts import SignalDrafts
from agent.channels.signal.fetching import Fetching
from agent.channels.signal.letters import Letters
from agent.channels.signal.listening import Ears, Listening
from agent.channels.signal.places import parameters_of, written_of
from agent.channels.signal.position import Position
from agent.channels.signal.sending import Sending
from agent.channels.signal.understanding import NAME
from agent.clock import Clock
from agent.errors import ChannelError
from agent.http import HttpClient
from agent.messages import Address, Inbound, Outbound

_log = logging.getLogger(__name__)

# The platform shows it for fifteen seconds
TYPING_EVERY_S = 10.0
# A courtesy that takes longer comes too late to be one
COURTESY_TIMEOUT_S = 10.0
HINT = (
    "Your answer is shown on a telephone, in Signal: short paragraphs, bold and italic and code, "
    "no tables, no headings."
)
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}
# Chats in which the agent is shown typing at the same time
MAX_TYPING = 200


class SignalChannel(Channel):
    """One account, by the daemon that holds its keys."""

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=letters.UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self, settings: SignalSettings, place: Place, http: HttpClient, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._daemon = Daemon(settings.base_url, settings.account, http)
        self._letters = Letters(self._daemon)
        self._drafts = SignalDrafts(self._letters, place.folder, clock)
        self._sending = Sending(self._daemon, self._letters, self._drafts)
        questions = OpenQuestions()
        self._asking = Asking(self._daemon, questions)
        fetching = Fetching(self._daemon, place.keeping, place.transcriber, self.pulse.beat)
        ears = Ears(questions, fetching, self._sending, place.knows, settings)
        position = Position(place.folder / "position.json")
        self._listening = Listening(self._daemon, ears, position, self.pulse, clock)
        self._typing: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)
        # A message ends it by itself
        self._typing.discard(message.recipient)

    def parts(self, text: str) -> tuple[str, ...]:
        return letters.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        target = inbound.reply_target
        if len(self._typing) < MAX_TYPING:
            self._typing.add(target)
        await self._courtesy("sendTyping", parameters_of(target))

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        target = inbound.reply_target
        place = parameters_of(target)
        written = written_of(inbound.message_id)
        if mark is not Mark.SEEN and target in self._typing:
            self._typing.discard(target)
            await self._courtesy("sendTyping", {**place, "stop": True})
        if written is None:
            return
        if mark is Mark.SEEN:
            read = {"recipient": written.author, "targetTimestamp": [written.timestamp_ms]}
            await self._courtesy("sendReceipt", {**read, "type": "read"})
        about = {"targetAuthor": written.author, "targetTimestamp": written.timestamp_ms}
        await self._courtesy("sendReaction", {**place, **about, "emoji": _SIGNS[mark]})

    async def aclose(self) -> None:
        await self._drafts.aclose()

    async def _courtesy(self, method: str, parameters: Mapping[str, object]) -> None:
        """Do something optional; an answer never waits for it, nor fails with it."""
        try:
            await self._daemon.call(method, parameters, COURTESY_TIMEOUT_S)
        except ChannelError as err:
            _log.info("%s", err)
