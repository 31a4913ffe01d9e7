"""Mattermost as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging

from agent.channels import worded
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.mattermost import sending
from agent.channels.mattermost.api import MattermostApi, is_id
from agent.channels.mattermost.events import MAX_NAME_CHARS, NAME
from agent.channels.mattermost.listening import Listening, who
from agent.channels.mattermost.sending import MattermostDrafts, Sending
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import MattermostSettings
from agent.clock import Clock
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound
from agent.printable import printable_line

_log = logging.getLogger(__name__)

# Its programs show it for five seconds
TYPING_EVERY_S = 4.0
HINT = "Your answer is shown in Mattermost: short paragraphs, Markdown, tables where they help."
_SIGNS = {Mark.SEEN: "eyes", Mark.DONE: "white_check_mark", Mark.FAILED: "warning"}


class MattermostChannel(Channel):
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
        self, api: MattermostApi, settings: MattermostSettings, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._drafts = MattermostDrafts(api, place.folder, clock)
        self._sending = Sending(api, self._drafts)
        self._listening = Listening(api, place, settings.groups, self.pulse, clock)

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        async def put(message: Outbound) -> None:
            await self._sending.question(message, question)

        return await worded.ask(self._listening.questions, address, question, put)

    async def typing(self, inbound: Inbound) -> None:
        told = {"channel_id": inbound.reply_target, "parent_id": inbound.thread or ""}
        await self._courtesy("POST", "/users/me/typing", told)

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        me = self._listening.me
        post = inbound.message_id
        if me is None or not is_id(post):
            return
        sign = {"user_id": me.id, "post_id": post, "emoji_name": _SIGNS[mark]}
        await self._courtesy("POST", "/reactions", sign)
        if mark is not Mark.SEEN:
            seen = f"/users/me/posts/{post}/reactions/{_SIGNS[Mark.SEEN]}"
            await self._courtesy("DELETE", seen)

    async def aclose(self) -> None:
        await self._drafts.aclose()

    async def _courtesy(self, method: str, path: str, body: object = None) -> None:
        """An answer never waits for it."""
        try:
            await self._api.call(method, path, body)
        except ChannelError as err:
            _log.info("%s", err)


async def identify(api: MattermostApi) -> str:
    """Return the bot's name in a sentence, without traffic of messages.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await who(api)
    name = printable_line(me.username, MAX_NAME_CHARS)
    return f"@{name} (id {printable_line(me.id, MAX_NAME_CHARS)}) is there"
