"""Slack as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import SlackSettings
from agent.channels.slack import words
from agent.channels.slack.api import ApiRefused, SlackApi
from agent.channels.slack.asking import Asking
from agent.channels.slack.fetching import Fetching
from agent.channels.slack.hearing import Ears, Hearing
from agent.channels.slack.listening import Listening
from agent.channels.slack.posting import Posting
from agent.channels.slack.sending import Sending, SlackDrafts
from agent.channels.slack.understanding import NAME, place_of
from agent.clock import Clock
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound

_log = logging.getLogger(__name__)

HINT = "Your answer is shown in Slack: short paragraphs, Markdown, no tables."
_SIGNS = {Mark.SEEN: "eyes", Mark.DONE: "white_check_mark", Mark.FAILED: "warning"}
# It stands already, or is gone already
_AS_WISHED = frozenset({"already_reacted", "no_reaction"})


class SlackChannel(Channel):
    """One app in one workspace, by Socket Mode; Slack shows nobody that it is typing.

    Args:
        api: with the app's tokens.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(self, api: SlackApi, settings: SlackSettings, place: Place, clock: Clock) -> None:
        pulse = Pulse(clock)
        self.pulse: Pulse | None = pulse
        self._api = api
        posting = Posting(api, clock)
        self._drafts = SlackDrafts(api, posting, place.folder, clock)
        self._sending = Sending(api, self._drafts, posting)
        questions = OpenQuestions()
        self._asking = Asking(api, questions)
        fetching = Fetching(api, place, pulse.beat)
        ears = Ears(api, self._asking, questions, fetching, settings.groups)
        self._hearing = Hearing(ears, clock)
        self._listening = Listening(api, self._hearing, pulse, clock)

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

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        place = place_of(inbound.message_id)
        if place is None:
            return
        where = {"channel": place[0], "timestamp": place[1]}
        await self._courtesy("reactions.add", {**where, "name": _SIGNS[mark]})
        if mark is not Mark.SEEN:
            await self._courtesy("reactions.remove", {**where, "name": _SIGNS[Mark.SEEN]})

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, method: str, body: dict[str, object]) -> None:
        """An answer never waits for it."""
        try:
            await self._api.call(method, body)
        except ApiRefused as err:
            if err.code not in _AS_WISHED:
                _log.info("%s", err)
        except ChannelError as err:
            _log.info("%s", err)
