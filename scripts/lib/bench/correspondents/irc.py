"""People on ngircd, who say again what the agent went away from."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from agent.access.people import PersonAccount
from agent.channels.irc.inbound import IrcLine
from scripts.lib.bench.correspondents.base import Correspondents, Line
from tests.fakes import irc_server
from tests.fakes.irc_server import CHANNEL, Visitor
from tests.waits import wait_until

_NICK = "barnacle"
# As long as the agent may try to come back, and its nick is somebody else's
_PATIENCE_S = 180.0


class IrcPeople(Correspondents):
    """People in one channel, who write in private."""

    name = "irc"
    keeps = False
    # It says a line each 1.2 s, as a server wants it
    share = 1

    def __init__(self, line: Line, visitors: Sequence[Visitor]) -> None:
        self.lines = (line,)
        self._visitors = visitors
        self._read = [0] * len(visitors)
        self._found: Counter[str] = Counter()
        self._absences = 0
        self._is_there = False
        self.table = (
            f'[channels.irc]\nurl = "irc://127.0.0.1:{line.relay.port}"\n'
            f'nick = "{_NICK}"\nchannels = ["{CHANNEL}"]\n'
        )
        self.accounts = [
            PersonAccount(channel="irc", sender=one.mask, target=one.nick) for one in visitors
        ]

    async def ready(self) -> None:
        await wait_until(self._sees_agent, _PATIENCE_S, look_s=0.05)

    async def write(self, person: int, text: str) -> None:
        await self.ready()
        self._visitors[person].say("PRIVMSG", _NICK, text)

    async def answers(self) -> Counter[str]:
        self._catch_up()
        return self._found

    def absences(self) -> int:
        self._catch_up()
        return self._absences

    def _sees_agent(self) -> bool:
        self._catch_up()
        return self._is_there

    def _catch_up(self) -> None:
        for number, visitor in enumerate(self._visitors):
            for line in visitor.heard[self._read[number] :]:
                if line.command == "PRIVMSG" and line.parameter(0) == visitor.nick:
                    self._found[line.parameter(1)] += 1
                elif number == 0:
                    self._see(line)
            self._read[number] = len(visitor.heard)

    def _see(self, line: IrcLine) -> None:
        if line.command == "NICK" and line.parameter(0) == _NICK:
            self._is_there = True
        elif line.nick == _NICK and line.command in {"JOIN", "QUIT", "NICK"}:
            self._is_there = line.command == "JOIN"
            self._absences += line.command == "QUIT"


@contextlib.asynccontextmanager
async def on_ngircd(folder: Path, people: int) -> AsyncIterator[IrcPeople]:
    async with irc_server.running(folder) as server, contextlib.AsyncExitStack() as stack:
        line = Line(server.port)
        await line.relay.start()
        stack.push_async_callback(line.relay.stop)
        visitors = [Visitor(f"anna{number}") for number in range(people)]
        for one in visitors:
            await one.enter(server.port, CHANNEL)
            stack.push_async_callback(one.leave)
        await wait_until(lambda: all(one.mask for one in visitors))
        yield IrcPeople(line, visitors)
