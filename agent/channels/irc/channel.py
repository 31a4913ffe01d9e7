"""IRC as a channel: one account on one server, in its rooms and in private.

Nothing is kept there for who is away: what is said while the agent is not connected is not heard.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator

from agent.channels import worded
from agent.channels.answers import OpenQuestions, in_words
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.irc.pace import BURST_LINES, EVERY_S, Pace
from agent.channels.irc.session import Session
from agent.channels.irc.understanding import CHANNEL_SIGNS, NAME, understood
from agent.channels.irc.welcome import Login, Welcome, enter
from agent.channels.irc.wire import MAX_LINE_BYTES, Line, folded
from agent.channels.settings import IrcSettings
from agent.clock import Clock
from agent.config import Secret
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Address, Inbound, Outbound
from agent.printable import printable_line

_log = logging.getLogger(__name__)

HINT = "Your answer is shown in IRC, as plain lines: a few short sentences, no tables, no code."
# What a server puts before a line of ours when it tells others: nick!user@host of the longest kind
MASK_BYTES = 30 + 1 + 12 + 1 + 64
# ":mask PRIVMSG target :text\r\n", with a target of 64 bytes
MAX_TEXT_BYTES = MAX_LINE_BYTES - MASK_BYTES - len(":  PRIVMSG  :\r\n") - 64
# A call that takes more lines than this to show is asked about at the terminal
MAX_QUESTION_LINES = 24
# Whether the nick of our wish is free again, and whether a room lets us in by now
LOOK_EVERY_S = 60.0
# Told to programs that ask who we are, and no oftener than this
INTRODUCE_EVERY_S = 10.0
_NOT_THERE = {"401": "is not there", "403": "is no room of this server"}
_NOT_TAKEN = frozenset(
    {"404", "406", "407", "411", "412", "413", "414", "415", "477", "482", "531"}
)
_NOT_LET_IN = frozenset({"403", "405", "471", "473", "474", "475", "476", "477", "489"})


class IrcChannel(Channel):
    """One nick."""

    name = NAME
    abilities = Abilities(hint=HINT, asks=True)

    def __init__(
        self, settings: IrcSettings, password: Secret, clock: Clock, line_every_s: float = EVERY_S
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        account = settings.account or settings.nick
        self._login = Login(settings.url, settings.nick, account, password)
        self._settings = settings
        self._clock = clock
        self._pace = Pace(clock, line_every_s)
        self._questions = OpenQuestions()
        self._welcome: Welcome | None = None
        self._nick = settings.nick
        self._count = 0
        self._introduced_s = -INTRODUCE_EVERY_S

    async def listen(self, deliver: Deliver) -> None:
        welcome = await enter(self._login)
        self.pulse.beat()
        self._nick = welcome.nick
        _log.info("on IRC as %s", printable_line(welcome.nick, MAX_LINE_BYTES))
        looking = asyncio.ensure_future(self._look(welcome.session))
        try:
            self._welcome = welcome
            async with contextlib.aclosing(welcome.session.lines()) as lines:
                async for line in lines:
                    self.pulse.beat()
                    await self._hear(line, welcome.session, deliver)
        finally:
            self._welcome = None
            looking.cancel()
            await welcome.session.aclose()

    async def send(self, message: Outbound) -> None:
        await self._say(message.recipient, _lines(message.text))

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render import split, utf8_bytes  # noqa: PLC0415 - no start needs it

        def measure(piece: str) -> int:
            # A line end costs as much as a line: few go at once
            return utf8_bytes(piece) + piece.count("\n") * (MAX_TEXT_BYTES // BURST_LINES)

        return split(text, MAX_TEXT_BYTES, measure)

    async def ask(self, address: Address, question: Question) -> Answer:
        told = [piece for line in in_words(question).splitlines() for piece in _pieces(line)]
        if len(told) > MAX_QUESTION_LINES:
            return Answer.NONE
        return await worded.ask(
            self._questions, address, question, lambda _: self._say(address.target, told)
        )

    async def _say(self, target: str, lines: list[str]) -> None:
        welcome = self._welcome
        if welcome is None:
            raise ChannelUnavailable("not connected to the IRC server")
        if "," in target:
            raise MessageRefused("a message goes to one nick or room of IRC")
        try:
            for line in lines:
                # More at once is a flood, and a server ends it
                await self._pace.wait()
                heard = await welcome.session.settle([("PRIVMSG", target, line)])
                self._check(target, line, heard, welcome)
        except ValueError as err:
            raise MessageRefused(f"that cannot be said on IRC: {err}") from err

    def _check(self, target: str, text: str, heard: list[Line], welcome: Welcome) -> None:
        """Check that the server repeated the message; one that it did not repeat was not taken."""
        is_echoed = "echo-message" not in welcome.abilities
        for line in heard:
            if line.command in _NOT_THERE and _is_about(line, target):
                raise MessageRefused(f"{target} {_NOT_THERE[line.command]}")
            if line.command in _NOT_TAKEN:
                reason = printable_line(line.parameter(-1), MAX_LINE_BYTES)
                raise MessageRefused(f"the IRC server does not take it for {target}: {reason}")
            if line.command == "PRIVMSG" and folded(line.nick) == folded(self._nick):
                is_echoed = is_echoed or line.parameter(1) == text
        if not is_echoed:
            raise ChannelUnavailable("the IRC server did not pass on a line")

    async def _hear(self, line: Line, session: Session, deliver: Deliver) -> None:
        self._count += 1
        if line.command == "NICK" and folded(line.nick) == folded(self._nick):
            self._nick = line.parameter(0)
        elif line.command == "KICK" and folded(line.parameter(1)) == folded(self._nick):
            _log.warning("put out of %s on IRC", printable_line(line.parameter(0), MAX_LINE_BYTES))
        elif line.command in _NOT_LET_IN and line.parameter(1)[:1] in CHANNEL_SIGNS:
            reason = printable_line(" ".join(line.parameters[1:]), MAX_LINE_BYTES)
            _log.warning("not let into a room of IRC: %s", reason)
        elif line.command == "PRIVMSG":
            if line.parameter(1).strip("\x01").upper() == "VERSION":
                await self._introduce(line, session)
            else:
                await self._listen_to(line, deliver)

    async def _listen_to(self, line: Line, deliver: Deliver) -> None:
        heard = understood(line, self._nick, self._clock.wall_s(), self._count)
        # An answer to a question in a room needs no name: it has the question's id
        if heard is None or self._questions.answer(heard.inbound):
            return
        if self._is_for_us(heard.inbound, calls_us=heard.calls_us):
            await deliver(heard.inbound)

    def _is_for_us(self, inbound: Inbound, *, calls_us: bool) -> bool:
        groups = self._settings.groups
        return not inbound.is_group or groups == "all" or (groups == "mention" and calls_us)

    async def _introduce(self, line: Line, session: Session) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._introduced_s >= INTRODUCE_EVERY_S:
            self._introduced_s = now_s
            with contextlib.suppress(ValueError):
                await session.say("NOTICE", line.nick, "\x01VERSION Barnacle\x01")

    async def _look(self, session: Session) -> None:
        """Into the rooms, and back to our name, again and again: both may work later."""
        with contextlib.suppress(ChannelUnavailable):
            await self._log_in_by_service(session)
            while True:
                for room in self._settings.channels:
                    await session.say("JOIN", room)
                if folded(self._nick) != folded(self._login.nick):
                    await session.say("NICK", self._login.nick)
                await self._clock.sleep(LOOK_EVERY_S)

    async def _log_in_by_service(self, session: Session) -> None:
        """Log in by NickServ, on servers without accounts of their own."""
        welcome = self._welcome
        if self._login.password and welcome is not None and "sasl" not in welcome.abilities:
            told = f"IDENTIFY {self._login.account} {self._login.password.reveal()}"
            await session.say("PRIVMSG", "NickServ", told)


def _lines(markdown: str) -> list[str]:
    """The lines of a part as they are said; a server takes no empty one."""
    from agent.channels.render import to_plain  # noqa: PLC0415 - an answer needs it, no start

    return [piece for line in to_plain(markdown).splitlines() for piece in _pieces(line)]


def _pieces(line: str) -> Iterator[str]:
    """The line, in as many as it takes; cut between signs, never inside one."""
    rest = line.rstrip()
    while rest:
        cut = rest.encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
        yield cut
        rest = rest[len(cut) :]


def _is_about(line: Line, target: str) -> bool:
    return folded(line.parameter(1)) == folded(target)
