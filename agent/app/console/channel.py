"""The channel of the browsers: each is an attached terminal of the person whose cookie it has."""

import asyncio
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agent.access.people import BROWSERS
from agent.app.console.reception import USER, ConsoleParts, ConsoleReception
from agent.channels.attached.channel import AttachedTerminals
from agent.channels.attached.frames import ApprovalFrame, SayFrame
from agent.channels.attached.session import TerminalSession
from agent.channels.attached.socket import listening
from agent.channels.base import Abilities, Deliver, Question
from agent.messages import Inbound, Outbound
from agent.system.clock import Clock

_LOST = "A file that you sent is not here any more: send it again."


class ConsoleChannel(AttachedTerminals):
    """Any number of browsers; who they are the door decides, as for a platform's people."""

    name = BROWSERS
    # A page fetches what it shows: nothing waits for a file
    abilities = Abilities(shows_drafts=True, takes_files=True, asks=True)

    def __init__(self, place: Path, state_dir: Path, clock: Clock, parts: ConsoleParts) -> None:
        super().__init__(place, state_dir, clock)
        self._parts = parts

    async def listen(self, deliver: Deliver) -> None:
        """Raises ChannelRefused: there cannot be a socket."""
        await self._is_open.wait()
        with listening(self._place, self._state_dir, USER) as made:
            async with asyncio.TaskGroup() as tasks:
                serve = partial(self._serve, deliver, tasks)
                await ConsoleReception(self._parts, self._clock, serve).run(made)

    async def send(self, message: Outbound) -> None:
        """Raises ChannelUnavailable: nobody was there to read it."""
        if message.files and not message.outbox_id:
            # The pictures of a question, which shows them itself
            return
        await super().send(message)

    async def aclose(self) -> None:
        for end in self._parts.ends:
            await end()
        await super().aclose()

    def _asked(self, target: str, question: Question, number: int) -> ApprovalFrame:
        plain, files = super()._asked(target, question, number), self._parts.files
        if not question.files or files is None:
            return plain
        return replace(plain, files=files.show(target, question.files))

    def _inbound(self, session: TerminalSession, said: SayFrame) -> Inbound:
        plain = super()._inbound(session, said)
        files = self._parts.files
        if not said.files or files is None:
            return plain
        found = files.take(session.visitor.target, said.files)
        missing = (_LOST,) * (len(found) < len(said.files))
        return replace(plain, attachments=found, notes=missing)

    def _may_stay(self, session: TerminalSession) -> bool:
        return self._parts.sessions.stands(session.visitor.person)
