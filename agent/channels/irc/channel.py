"""IRC channel, and the platform that builds it from the settings."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from weakref import WeakValueDictionary

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.certificate_authority import trust
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.irc.client import BURST_LINES, EVERY_S, IrcConnection, IrcRateLimit, reason_of
from agent.channels.irc.inbound import (
    CHANNEL_SIGNS,
    MAX_LINE_BYTES,
    NAME,
    IrcLine,
    folded,
    understood,
)
from agent.channels.irc.login import IrcLogin, IrcWelcome, enter
from agent.channels.irc.nicks import NickOwners, check_owner
from agent.channels.irc.services import log_in_by_service
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.settings import ChannelsSettings, IrcSettings
from agent.channels.urgency import is_for_everybody
from agent.config import Secret
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Address, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

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
    """Channel of one nick."""

    name = NAME
    abilities = Abilities(hint=HINT, asks=True)

    def __init__(
        self,
        settings: IrcSettings,
        login: IrcLogin,
        place: ChannelContext,
        clock: Clock,
        line_every_s: float = EVERY_S,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._login = login
        self._settings = settings
        self._clock = clock
        self._place = place
        self._owners = NickOwners(place.folder / "nicks.json")
        self._pace = IrcRateLimit(clock, line_every_s)
        self._questions = OpenApprovals()
        self._welcome: IrcWelcome | None = None
        # The lines of one message stand together where they are read
        self._speaking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._nick = settings.nick
        self._count = 0
        # Rooms that we are not in, each with the server's reason
        self._missing: dict[str, str] = {}
        # Why NickServ was not told the password, and if it was, in this session
        self._missing_login = ""
        self._has_logged_in = False
        self._introduced_s = -INTRODUCE_EVERY_S

    @property
    def gap(self) -> str:
        rooms = "; ".join(f"{room} ({reason})" for room, reason in self._missing.items())
        told = [
            f"not logged in as {self._login.account}: {self._missing_login}"
            if self._missing_login
            else "",
            f"cannot join {rooms}: check channels.irc.channels" if rooms else "",
        ]
        return "; ".join(filter(None, told))

    async def listen(self, deliver: Deliver) -> None:
        welcome = await enter(self._login)
        self.pulse.beat()
        self._nick = welcome.nick
        _log.info("irc: connected (nick=%s)", printable_line(welcome.nick, MAX_LINE_BYTES))
        looking = asyncio.ensure_future(self._look(welcome.session))
        try:
            self._welcome, self._has_logged_in = welcome, False
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
        from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it
        from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

        def measure(piece: str) -> int:
            # A line end costs as much as a line: few go at once
            return utf8_bytes(piece) + piece.count("\n") * (MAX_TEXT_BYTES // BURST_LINES)

        return split(text, MAX_TEXT_BYTES, measure)

    async def ask(self, address: Address, question: Question) -> Answer:
        told = [piece for line in question_text(question).splitlines() for piece in _pieces(line)]
        if len(told) > MAX_QUESTION_LINES:
            return Answer.NONE
        return await approvals.ask(
            self._questions, address, question, lambda _: self._say(address.target, told)
        )

    async def _say(self, target: str, lines: list[str]) -> None:
        welcome = self._welcome
        if welcome is None:
            raise ChannelUnavailable("not connected to the IRC server")
        if "," in target:
            raise MessageRefused("invalid IRC target: expected one nick or channel")
        alone = self._speaking.setdefault(folded(target), asyncio.Lock())
        try:
            async with alone:
                await self._check_owner(target, welcome)
                for line in lines:
                    # More at once is a flood, and a server ends it
                    await self._pace.wait()
                    heard = await welcome.session.settle([("PRIVMSG", target, line)])
                    self._check(target, heard, welcome)
        except ValueError as err:
            raise MessageRefused(f"cannot send that over IRC: {err}") from err

    async def _check_owner(self, target: str, welcome: IrcWelcome) -> None:
        """Check that a nick is still that of the person who wrote under it."""
        if target[:1] in CHANNEL_SIGNS or not (owner := await self._owners.owner(target)):
            return
        await self._pace.wait()
        check_owner(target, owner, await welcome.session.settle([("WHOIS", target)]))

    def _check(self, target: str, heard: list[IrcLine], welcome: IrcWelcome) -> None:
        """Check that the server repeated the line; otherwise it was not accepted.

        Its words may be others by then: a server takes out colours, or words that it does not want.
        """
        is_echoed = "echo-message" not in welcome.abilities
        for line in heard:
            if line.command in _NOT_THERE and _is_about(line, target):
                raise MessageRefused(f"{target} {_NOT_THERE[line.command]}")
            if line.command in _NOT_TAKEN and not _is_about_other_room(line, target):
                reason = printable_line(line.parameter(-1), MAX_LINE_BYTES)
                raise MessageRefused(f"the IRC server refused the message for {target}: {reason}")
            if line.command == "PRIVMSG" and folded(line.nick) == folded(self._nick):
                is_echoed = is_echoed or _is_to(line, target)
        if not is_echoed:
            raise ChannelUnavailable("the IRC server did not confirm a line")

    async def _hear(self, line: IrcLine, session: IrcConnection, deliver: Deliver) -> None:
        self._count += 1
        if line.command == "NICK" and folded(line.nick) == folded(self._nick):
            self._nick = line.parameter(0)
        elif line.command == "JOIN" and folded(line.nick) == folded(self._nick):
            self._missing.pop(folded(line.parameter(0)), None)
        elif line.command == "KICK" and folded(line.parameter(1)) == folded(self._nick):
            self._note_missing(line.parameter(0), "removed from it")
            _log.warning(
                "irc: removed from a channel (channel=%s)",
                printable_line(line.parameter(0), MAX_LINE_BYTES),
            )
        elif line.command in _NOT_LET_IN and line.parameter(1)[:1] in CHANNEL_SIGNS:
            reason = printable_line(" ".join(line.parameters[1:]), MAX_LINE_BYTES)
            _log.warning("irc: cannot join a channel (reason=%s)", reason)
            self._note_missing(line.parameter(1), reason_of(line))
        elif line.command == "PRIVMSG":
            if line.parameter(1).strip("\x01").upper() == "VERSION":
                await self._introduce(line, session)
            else:
                await self._listen_to(line, deliver)

    def _note_missing(self, room: str, reason: str) -> None:
        wanted = {folded(one): one for one in self._settings.channels}
        if folded(room) in wanted:
            self._missing[folded(room)] = reason

    async def _listen_to(self, line: IrcLine, deliver: Deliver) -> None:
        heard = understood(line, self._nick, self._clock.wall_s(), self._count)
        # An answer to a question in a room needs no name: it has the question's id
        if heard is None or self._questions.answer(heard.inbound):
            return
        if self._is_for_us(heard.inbound, calls_us=heard.calls_us):
            if not heard.inbound.is_group and self._place.knows(heard.inbound):
                await self._owners.note(heard.inbound.reply_target, heard.inbound.sender)
            await deliver(heard.inbound)

    def _is_for_us(self, inbound: Inbound, *, calls_us: bool) -> bool:
        groups = self._settings.groups
        is_meant = calls_us or is_for_everybody(inbound.text)
        return not inbound.is_group or groups == "all" or (groups == "mention" and is_meant)

    async def _introduce(self, line: IrcLine, session: IrcConnection) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._introduced_s >= INTRODUCE_EVERY_S:
            self._introduced_s = now_s
            with contextlib.suppress(ValueError):
                await session.say("NOTICE", line.nick, "\x01VERSION Barnacle\x01")

    async def _look(self, session: IrcConnection) -> None:
        """Rejoin rooms and regain the nick regularly: both may work later."""
        with contextlib.suppress(ChannelUnavailable):
            while True:
                await self._log_in_by_service(session)
                for room in self._settings.channels:
                    await session.say("JOIN", room)
                if folded(self._nick) != folded(self._login.nick):
                    await session.say("NICK", self._login.nick)
                await self._clock.sleep(LOOK_EVERY_S)

    async def _log_in_by_service(self, session: IrcConnection) -> None:
        """Tell NickServ the password once, where it is needed and one is there."""
        welcome = self._welcome
        if self._has_logged_in or welcome is None or "sasl" in welcome.abilities:
            return
        if self._login.password:
            self._missing_login = await log_in_by_service(session, self._login)
            self._has_logged_in = not self._missing_login


def _lines(markdown: str) -> list[str]:
    """Split a part into its lines; a server takes no empty one."""
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

    return [piece for line in to_plain(markdown).splitlines() for piece in _pieces(line)]


def _pieces(line: str) -> Iterator[str]:
    """Split a line at visible characters into as many as the server needs."""
    rest = line.rstrip()
    while rest:
        cut = rest.encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
        yield cut
        rest = rest[len(cut) :]


def _is_to(line: IrcLine, target: str) -> bool:
    return folded(line.parameter(0)) == folded(target)


def _is_about(line: IrcLine, target: str) -> bool:
    return folded(line.parameter(1)) == folded(target)


def _is_about_other_room(line: IrcLine, target: str) -> bool:
    """Return true for the answer to something else, such as a JOIN meanwhile."""
    return line.parameter(1)[:1] in tuple(CHANNEL_SIGNS) and not _is_about(line, target)


MAX_NICK_CHARS = 64


class Irc(Platform):
    """Platform of a nick on one server."""

    name = IrcChannel.name
    about = "a nick on one server, in its channels and in private"
    wanted = (
        SetupKey("url", "The server, such as ircs://irc.libera.chat"),
        SetupKey("nick", "The nick", is_needed=False),
        SetupKey("channels", "Channels to join, such as #lab", is_needed=False, is_list=True),
        SetupKey("password", "The password of its account", is_secret=True, is_needed=False),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted = _wanted(channels)
        place = channel_context(self.name, channels, reach)
        return IrcChannel(wanted, _login(wanted, reach.environ), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        wanted = _wanted(channels)
        login = _login(wanted, reach.environ)
        welcome = await enter(login)
        await welcome.session.aclose()
        logged_in = f"as {login.account}" if "sasl" in welcome.abilities else "with no account"
        return f"{wanted.url} takes {printable_line(welcome.nick, MAX_NICK_CHARS)} {logged_in}"


PLATFORM = Irc()


def _wanted(channels: ChannelsSettings) -> IrcSettings:
    return channels.irc or IrcSettings()


def _password(wanted: IrcSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("irc_password", wanted.password, wanted.password_file, environ)


def _login(wanted: IrcSettings, environ: Mapping[str, str]) -> IrcLogin:
    context = trust(NAME, wanted.ca_file, environ)
    account = wanted.account or wanted.nick
    return IrcLogin(wanted.url, wanted.nick, account, _password(wanted, environ), context)
