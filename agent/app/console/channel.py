"""The channel of the browsers: each is an attached terminal of the person whose cookie it has."""

import asyncio
from functools import partial
from pathlib import Path

from agent.access.people import BROWSERS
from agent.app.console.reception import USER, ConsoleParts, ConsoleReception
from agent.channels.attached.channel import AttachedTerminals
from agent.channels.attached.session import TerminalSession
from agent.channels.attached.socket import listening
from agent.channels.base import Abilities, Deliver
from agent.system.clock import Clock


class ConsoleChannel(AttachedTerminals):
    """Any number of browsers; who they are the door decides, as for a platform's people."""

    name = BROWSERS
    abilities = Abilities(shows_drafts=True, asks=True)

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

    def _may_stay(self, session: TerminalSession) -> bool:
        return self._parts.sessions.stands(session.visitor.person)
