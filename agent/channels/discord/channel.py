"""Discord as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging
from urllib.parse import quote

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.discord import words
from agent.channels.discord.api import ApiRefused, DiscordApi
from agent.channels.discord.asking import Asking
from agent.channels.discord.dialect import DiscordDialect
from agent.channels.discord.fetching import Fetching
from agent.channels.discord.listening import Listening, Parts
from agent.channels.discord.places import Places, messages_in
from agent.channels.discord.sending import DiscordDrafts, Sending
from agent.channels.discord.understanding import NAME
from agent.channels.opcodes.gateway import Gateway
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import DiscordSettings
from agent.clock import Clock
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound

_log = logging.getLogger(__name__)

# The platform shows it for ten seconds
TYPING_EVERY_S = 8.0
HINT = "Your answer is shown in Discord: short paragraphs, Markdown, no tables."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "✅", Mark.FAILED: "⚠️"}
# Chats where the bot may not put signs that are remembered: asking again and again locks it out
MAX_PLAIN_CHATS = 1000


class DiscordChannel(Channel):
    """One bot.

    Args:
        api: with the bot's token.
    """

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
        self, api: DiscordApi, settings: DiscordSettings, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._drafts = DiscordDrafts(api, place.folder, clock)
        self._sending = Sending(api, self._drafts)
        questions = OpenQuestions()
        self._asking = Asking(api, questions)
        path = place.folder / "session.json"
        dialect = DiscordDialect(api, reads_all=settings.groups == "all")
        gateway = Gateway(dialect, path, self.pulse, clock)
        fetching = Fetching(api, place, self.pulse.beat)
        parts = Parts(
            api, gateway, self._asking, questions, fetching, Places(api), place, settings.groups
        )
        self._listening = Listening(parts, self.pulse, clock)
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
        place = inbound.thread or inbound.reply_target
        await self._courtesy("POST", f"/channels/{place}/typing")

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        chat = inbound.reply_target
        if chat in self._without_signs or inbound.message_id in self._listening.chosen:
            return
        signs = f"{messages_in(chat, inbound.thread)}/{inbound.message_id}/reactions"
        is_shown = await self._courtesy("PUT", f"{signs}/{quote(_SIGNS[mark])}/@me")
        if is_shown and mark is not Mark.SEEN:
            # A bot may have several
            await self._courtesy("DELETE", f"{signs}/{quote(_SIGNS[Mark.SEEN])}/@me")
        elif not is_shown and len(self._without_signs) < MAX_PLAIN_CHATS:
            self._without_signs.add(chat)

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, method: str, path: str) -> bool:
        """Do something optional; an answer never waits for it."""
        try:
            await self._api.call(method, path)
        except ChannelError as err:
            _log.info("%s", err)
            return not (isinstance(err, ApiRefused) and err.is_forbidden)
        return True


async def identify(api: DiscordApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    from agent.printable import printable_line  # noqa: PLC0415 - who listens needs it not

    me = await api.call("GET", "/users/@me")
    told = me if isinstance(me, dict) else {}
    name = printable_line(str(told.get("username", "")), 64)
    return f"@{name} (id {printable_line(str(told.get('id', '')), 20)}) is there"
