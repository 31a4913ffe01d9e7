"""Channels that send in one way or another, each named after what goes wrong with it."""

import asyncio

from agent.channels.base import Abilities, Mark
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Inbound, Outbound
from tests.fakes.channel import FakeChannel


class ShortBreath(FakeChannel):
    """Takes five characters at a time, and is cut off after so many parts."""

    def __init__(self, breaks_after: int = 1_000) -> None:
        super().__init__()
        self._left = breaks_after

    def parts(self, text: str) -> tuple[str, ...]:
        return tuple(text[at : at + 5] for at in range(0, len(text), 5))

    async def send(self, message: Outbound) -> None:
        if self._left == 0:
            await asyncio.Event().wait()
        self._left -= 1
        await super().send(message)


class BusyChat(FakeChannel):
    """Wants nothing in one chat for a while, and says for how long."""

    def __init__(self, chat: str, retry_after_s: float) -> None:
        super().__init__()
        self._chat = chat
        self._retry_after_s = retry_after_s

    async def send(self, message: Outbound) -> None:
        if message.recipient == self._chat and self._retry_after_s:
            wait_s, self._retry_after_s = self._retry_after_s, 0.0
            raise ChannelUnavailable("too many requests", retry_after_s=wait_s)
        await super().send(message)


class AwayFor(FakeChannel):
    """Not reached for so many tries."""

    def __init__(self, tries: int) -> None:
        super().__init__()
        self._left = tries

    async def send(self, message: Outbound) -> None:
        self._left -= 1
        if self._left >= 0:
            await self._fail()
        await super().send(message)

    async def _fail(self) -> None:
        raise ChannelUnavailable("no network")


class HangsFor(AwayFor):
    """Does not come back from so many tries."""

    async def _fail(self) -> None:
        await asyncio.Event().wait()


class HangsInSomeChats(FakeChannel):
    """Never comes back from sending to chats whose name begins so."""

    def __init__(self, beginning: str) -> None:
        super().__init__()
        self._beginning = beginning

    async def send(self, message: Outbound) -> None:
        if message.recipient.startswith(self._beginning):
            await asyncio.Event().wait()
        await super().send(message)


class SlowLine(FakeChannel):
    """Takes so long for everything, and says so of files."""

    abilities = Abilities(upload_s=5.0)

    def __init__(self, takes_s: float) -> None:
        super().__init__()
        self._takes_s = takes_s

    async def send(self, message: Outbound) -> None:
        await asyncio.sleep(self._takes_s)
        await super().send(message)


class NeverTakes(FakeChannel):
    """Refuses one text for ever."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tries = 0
        self._text = text

    async def send(self, message: Outbound) -> None:
        self.tries += 1
        if message.text == self._text:
            raise MessageRefused("no such chat")
        await super().send(message)


class Ornate(FakeChannel):
    """Shows marks and typing, and keeps in which order."""

    abilities = Abilities(typing_every_s=4.0, shows_marks=True)

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.ended = asyncio.Event()

    async def send(self, message: Outbound) -> None:
        self.shown.append("answer")
        await super().send(message)

    async def typing(self, inbound: Inbound) -> None:
        self.shown.append("typing")

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        self.shown.append(mark.value)
        if mark is not Mark.SEEN:
            self.ended.set()


class BrokenOrnaments(Ornate):
    """Cannot show anything, and never answers when asked to."""

    async def typing(self, inbound: Inbound) -> None:
        raise ConnectionError("not now")

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        await super().mark(inbound, mark)
        raise ConnectionError("not now")
