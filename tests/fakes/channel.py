"""Channels that a test speaks through, each named after what it does."""

import asyncio

from agent.channels.base import Abilities, Answer, Channel, Deliver, Question
from agent.messages import Address, Inbound, Outbound, Provenance


def message(
    text: str, message_id: str = "1", sender: str = "owner", channel: str = "fake"
) -> Inbound:
    """A message of the owner's on the fake channel."""
    return Inbound(message_id, channel, sender, "chat", text, 1_800_000_000.0, Provenance.OWNER)


class FakeChannel(Channel):
    """Keeps what is sent, and answers every question with `answer`."""

    name = "fake"

    def __init__(self, answer: Answer = Answer.NONE) -> None:
        self.sent: list[Outbound] = []
        self.drafts: list[str] = []
        self.broken_off: list[str] = []
        self.questions: list[Question] = []
        self.arrived = asyncio.Event()
        self._answer = answer

    async def listen(self, deliver: Deliver) -> None:
        await asyncio.Event().wait()

    async def send(self, message: Outbound) -> None:
        self.sent.append(message)
        self.arrived.set()

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        self.drafts.append(text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        self.broken_off.append(inbound.message_id)

    async def ask(self, address: Address, question: Question) -> Answer:
        self.questions.append(question)
        return self._answer

    async def wait_for(self, count: int) -> list[str]:
        """The texts of the first `count` answers."""
        while len(self.sent) < count:
            self.arrived.clear()
            await self.arrived.wait()
        return [message.text for message in self.sent[:count]]


class AskedChannel(FakeChannel):
    """Keeps whom it asked."""

    def __init__(self, answer: Answer = Answer.NONE) -> None:
        super().__init__(answer)
        self.asked: list[Address] = []

    async def ask(self, address: Address, question: Question) -> Answer:
        self.asked.append(address)
        return await super().ask(address, question)


class SilentChannel(AskedChannel):
    """Answers no question; counts those that were taken back."""

    def __init__(self) -> None:
        super().__init__()
        self.taken_back = 0

    async def ask(self, address: Address, question: Question) -> Answer:
        await super().ask(address, question)
        try:
            await asyncio.Event().wait()
        finally:
            self.taken_back += 1
        raise AssertionError


class LocalChannel(FakeChannel):
    """Who writes here is who the test says, also to a whole agent with its door."""

    abilities = Abilities(is_local=True)


class RefusingChannel(FakeChannel):
    """Takes nothing for the first `refusals` tries."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.refusals = refusals
        self.tries = 0

    async def send(self, message: Outbound) -> None:
        self.tries += 1
        if self.tries <= self.refusals:
            raise ConnectionError("not now")
        await super().send(message)


class DesertedChannel(FakeChannel):
    """There, with nobody at it until somebody comes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_attended = False

    def attends(self, message: Outbound) -> bool:
        return self.is_attended


class LeavingChannel(DesertedChannel):
    """Whoever is at it leaves in the middle of the first message."""

    def __init__(self) -> None:
        super().__init__()
        self.is_attended = True
        self._has_left = False

    async def send(self, message: Outbound) -> None:
        if not self._has_left:
            self._has_left, self.is_attended = True, False
            raise ConnectionError("they have left")
        await super().send(message)


class SlowChannel(FakeChannel):
    """Takes a message only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()

    async def send(self, message: Outbound) -> None:
        await self.goes_on.wait()
        await super().send(message)
