"""Telegram as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging
from collections.abc import Mapping

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import TelegramSettings
from agent.channels.telegram import words
from agent.channels.telegram.api import ApiRefused, TelegramApi
from agent.channels.telegram.asking import Asking
from agent.channels.telegram.drafts import TelegramDrafts
from agent.channels.telegram.fetching import Fetching
from agent.channels.telegram.listening import Ears, Listening
from agent.channels.telegram.position import Position
from agent.channels.telegram.sending import Sending
from agent.channels.telegram.silence import Silence
from agent.channels.telegram.understanding import NAME, number_of
from agent.channels.telegram.words import Words
from agent.clock import Clock
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Address, Inbound, Outbound

_log = logging.getLogger(__name__)

# The platform shows it for five seconds
TYPING_EVERY_S = 4.0
HINT = (
    "Your answer is shown on a telephone, in Telegram: short paragraphs, Markdown, no wide tables."
)
# Every chat allows these unless it allows few; others would be refused
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👌", Mark.FAILED: "😢"}
# Chats without signs that are remembered
MAX_PLAIN_CHATS = 1000


class TelegramChannel(Channel):
    """One bot.

    Args:
        api: with the bot's token.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        # What is refused as a picture goes once more, as a file
        upload_s=2 * UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self, api: TelegramApi, settings: TelegramSettings, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._silence = Silence(clock)
        self._words = Words(api)
        self._drafts = TelegramDrafts(self._words, self._silence, place.folder, clock)
        self._sending = Sending(api, self._words, self._drafts, self._silence)
        questions = OpenQuestions()
        self._asking = Asking(api, self._words, questions, self._silence)
        fetching = Fetching(api, place.keeping, place.transcriber, self.pulse.beat)
        ears = Ears(self._asking, questions, fetching, place.knows, settings.groups, place.commands)
        position = Position(place.folder / "position.json", clock)
        self._listening = Listening(api, ears, position, self.pulse, clock)
        self._without_signs: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return words.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        place = self._words.place(inbound.reply_target, inbound.thread)
        await self._courtesy(inbound.reply_target, "sendChatAction", {**place, "action": "typing"})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        number = number_of(inbound.message_id)
        chat = inbound.reply_target
        if number is None or chat in self._without_signs:
            return
        sign = [{"type": "emoji", "emoji": _SIGNS[mark]}]
        body = {"chat_id": self._words.chat_of(chat), "message_id": number, "reaction": sign}
        is_shown = await self._courtesy(chat, "setMessageReaction", body)
        if not is_shown and len(self._without_signs) < MAX_PLAIN_CHATS:
            self._without_signs.add(chat)

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, chat: str, method: str, body: Mapping[str, object]) -> bool:
        """Do something optional; return true if the platform did it. No answer waits for it."""
        if self._silence.left_s(chat):
            return True
        try:
            await self._api.call(method, body)
        except ApiRefused as err:
            _log.info("%s", err)
            return False
        except ChannelUnavailable as err:
            self._silence.note(chat, err)
        except ChannelError as err:
            _log.info("%s", err)
        return True
