"""Contact with the owner: where they are reached now, and their answers to questions.

Only the owner is ever asked whether a tool may act: in their own private chat, on whatever channel
leads to them. Whoever is not the owner cannot say yes to what they want themselves.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from agent.access.open_questions import OpenQuestions
from agent.access.people import BROWSERS, OWNER_ID, PeopleStore
from agent.channels.base import Answer, Channel, Question
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound
from agent.system.activity import Activity
from agent.system.clock import Clock
from agent.text.printable import printable_line

# Questions because of what one other person wants: nobody makes the owner's telephone ring all day
MAX_ASKED = 6
ASKED_WITHIN_S = 3600.0
# Beyond this many others nobody new is asked for within the hour
MAX_ASKERS = 100
_MAX_NAME_CHARS = 60
# The question waits for its pictures, but not for long
FILES_TIMEOUT_S = 20.0

_log = logging.getLogger(__name__)


class OwnerContact:
    """Finds the owner.

    Args:
        local: the owner at the machine itself.
    """

    def __init__(
        self,
        people: PeopleStore,
        channels: Mapping[str, Channel],
        activity: Activity,
        clock: Clock,
        local: Address,
    ) -> None:
        self._people = people
        self._channels = channels
        self._activity = activity
        self._clock = clock
        self._local = local
        self._asked_s: dict[str, deque[float]] = {}
        self.questions = OpenQuestions()

    @property
    def places(self) -> tuple[Address, ...]:
        """Return the addresses to try, best first; a channel in trouble comes last."""
        there = [place for place in self._known() if self._is_there(place)]
        return tuple(sorted(there, key=lambda place: place.channel in self._activity.deaf))

    @property
    def waiting_place(self) -> Address:
        """Return where to keep what nobody takes now: the owner comes by there."""
        # A browser ends, and what is kept for it with it
        known = [place for place in self._known() if place.channel != BROWSERS]
        # Somebody who paired a telephone may not open a terminal for months
        return known[1] if len(known) > 1 else known[0]

    async def ask(self, message: Inbound, question: Question) -> Answer:
        """The owner's word on a call in the turn that the message began."""
        is_theirs = message.who == OWNER_ID and not message.is_group and self._has_stayed(message)
        if message.who != OWNER_ID and not self._may_ask_for(message.who):
            return Answer.NONE
        if not is_theirs:
            question = replace(question, reason=f"{question.reason}; {self._asker(message)}")
            return await self._ask_at(self.places, question, message.conversation)
        here, elsewhere = message.address, [one for one in self.places if _differs(one, message)]
        # What runs by itself asks where the owner is, not where it was ordered
        places = [here, *elsewhere] if message.strand is None else [*elsewhere, here]
        return await self._ask_at(places, question, message.conversation)

    async def confirm(self, question: Question) -> Answer:
        """The owner's word on what no turn is about."""
        return await self._ask_at(self.places, question)

    async def _ask_at(
        self, places: Iterable[Address], question: Question, conversation: str = ""
    ) -> Answer:
        """Ask at the first place that can; the turn of `conversation` waits meanwhile."""
        for place in places:
            with (
                contextlib.suppress(ChannelError),
                self.questions.asked(place, question, conversation) as asked,
            ):
                await self._send_files(place, asked)
                answer = await self._channels[place.channel].ask(place, asked)
                if answer is not Answer.NONE:
                    return answer
        return Answer.NONE

    async def _send_files(self, place: Address, question: Question) -> None:
        """Send what belongs to the question before it; it can be answered without."""
        channel = self._channels[place.channel]
        if not question.files or not channel.abilities.takes_files:
            return
        names = ", ".join(file.name for file in question.files)
        try:
            async with asyncio.timeout(FILES_TIMEOUT_S):
                await channel.send(
                    Outbound(
                        0,
                        place.channel,
                        place.target,
                        names,
                        "",
                        place.thread,
                        files=question.files,
                    )
                )
        except (ChannelError, TimeoutError) as err:
            _log.warning("access: picture of a question not sent (error=%s)", err)

    def _has_stayed(self, message: Inbound) -> bool:
        """Whoever was revoked in the middle of their turn says yes no more."""
        if not message.person or self._channels[message.channel].abilities.is_local:
            return True
        person = self._people.find(message.channel, message.sender)
        return person is not None and person.person_id == OWNER_ID

    def _known(self) -> tuple[Address, ...]:
        owner = self._people.owner()
        # A telephone is looked at more often than a page that was left open
        accounts = sorted(owner.accounts, key=lambda one: one.is_browser) if owner else ()
        return (self._local, *(Address(one.channel, one.target, one.sender) for one in accounts))

    def _is_there(self, place: Address) -> bool:
        channel = self._channels.get(place.channel)
        return channel is not None and channel.attends(
            Outbound(0, place.channel, place.target, "", "")
        )

    def _may_ask_for(self, who: str) -> bool:
        now_s = self._clock.monotonic_s()
        for name, asked_s in list(self._asked_s.items()):
            while asked_s and now_s - asked_s[0] >= ASKED_WITHIN_S:
                asked_s.popleft()
            if not asked_s:
                del self._asked_s[name]
        if len(self._asked_s) >= MAX_ASKERS and who not in self._asked_s:
            return False
        asked_s = self._asked_s.setdefault(who, deque())
        if len(asked_s) >= MAX_ASKED:
            return False
        asked_s.append(now_s)
        return True

    def _asker(self, message: Inbound) -> str:
        person = self._people.find(message.channel, message.sender)
        known = f"{person.name} ({person.role})" if person else f"somebody ({message.sender})"
        where = f"{message.channel}, in a group" if message.is_group else message.channel
        return f"{printable_line(known, _MAX_NAME_CHARS)} asked for it on {where}"


def _differs(place: Address, message: Inbound) -> bool:
    return (place.channel, place.target) != (message.channel, message.reply_target)
