"""Login to an IRC server: capabilities, account and nick.

A password goes only where nobody reads along.
"""

import asyncio
import base64
import contextlib
import logging
import ssl
from urllib.parse import urlsplit

from msgspec import Struct

from agent.channels.irc.client import READ_LIMIT_BYTES, IrcConnection, reason_of
from agent.channels.irc.inbound import IrcLine
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.addresses import connect_error, is_this_machine
from agent.net.tls import tls_context

_log = logging.getLogger(__name__)

# Name, network and TLS
CONNECT_TIMEOUT_S = 20.0
# A server looks the other side up before it welcomes anybody
WELCOME_TIMEOUT_S = 60.0
# What it takes at most for a nick is unknown until then
MAX_TRIED_NICKS = 5
_WANTED = frozenset({"account-tag", "echo-message", "message-tags", "sasl", "server-time"})
# AUTHENTICATE takes so much at once
_SASL_CHUNK_CHARS = 400
_PORTS = {"irc": 6667, "ircs": 6697}
_NICK_TAKEN = frozenset({"432", "433", "436", "437"})
_SASL_FAILED = frozenset({"902", "904", "905", "906", "907", "908"})
_BARRED = {"464": "it wants a password of its own", "465": "the agent is banned there"}


class IrcLogin(Struct, frozen=True):
    """Login of the agent; an empty password means no account.

    Args:
        context: of TLS, where the address asks for it.
    """

    url: str
    nick: str
    account: str
    password: Secret
    context: ssl.SSLContext | None = None


class IrcWelcome(Struct, frozen=True):
    """Result of the welcome: our nick, and the server's abilities."""

    session: IrcConnection
    nick: str
    abilities: frozenset[str]


async def enter(login: IrcLogin) -> IrcWelcome:
    """Open a session in which the server has welcomed us.

    Raises:
        ChannelRefused: it takes neither the account nor us.
        ChannelUnavailable: it is not there, or not now.
    """
    place = urlsplit(login.url)
    is_private = place.scheme == "ircs" or is_this_machine(place.hostname or "")
    if login.password and not is_private:
        raise ChannelRefused(
            "channels.irc has a password, which needs TLS: use ircs:// instead of irc://"
        )
    port = place.port or _PORTS[place.scheme]
    context = (login.context or tls_context()) if place.scheme == "ircs" else None
    session = await _connected(place.hostname or "", port, context)
    try:
        async with asyncio.timeout(WELCOME_TIMEOUT_S):
            return await _Entering(session, login).run()
    except TimeoutError as err:
        await session.aclose()
        raise ChannelUnavailable("the IRC server did not finish the login in time") from err
    except BaseException:
        await session.aclose()
        raise


async def _connected(host: str, port: int, context: ssl.SSLContext | None) -> IrcConnection:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            pair = await asyncio.open_connection(host, port, ssl=context, limit=READ_LIMIT_BYTES)
    except ssl.SSLCertVerificationError as err:
        raise ChannelUnavailable(
            f"the certificate of the IRC server {host} is not trusted ({err.verify_message}): set "
            "channels.irc.ca_file to that of its authority"
        ) from err
    except (OSError, TimeoutError) as err:
        raise ChannelUnavailable(
            f"cannot reach the IRC server {host}:{port} ({connect_error(err)}): check "
            "channels.irc.url and the network"
        ) from err
    return IrcConnection(*pair)


class _Entering:
    """Login steps until the welcome."""

    def __init__(self, session: IrcConnection, login: IrcLogin) -> None:
        self._session = session
        self._login = login
        self._nick = login.nick
        self._tried = 1
        self._offered: set[str] = set()
        self._abilities: set[str] = set()

    async def run(self) -> IrcWelcome:
        await self._session.say("CAP", "LS", "302")
        await self._session.say("NICK", self._nick)
        await self._session.say("USER", self._login.nick.lower(), "0", "*", "Barnacle")
        async with contextlib.aclosing(self._session.lines()) as lines:
            async for line in lines:
                if line.command == "001":
                    # The server's word for us is the true one
                    return IrcWelcome(self._session, line.parameter(0), frozenset(self._abilities))
                await self._answer(line)
        raise AssertionError("lines end only by an exception")

    async def _answer(self, line: IrcLine) -> None:
        if line.command == "CAP":
            await self._settle_abilities(line)
        elif line.command == "AUTHENTICATE":
            await self._identify()
        elif line.command == "903":
            await self._session.say("CAP", "END")
        elif line.command in _SASL_FAILED:
            raise ChannelRefused(
                f"IRC login of {self._login.account} refused ({reason_of(line)}): set "
                "channels.irc.account and password_file"
            )
        elif line.command in _NICK_TAKEN:
            await self._take_other_nick(line)
        elif line.command in _BARRED:
            raise ChannelRefused(
                f"the IRC server refused the connection: {_BARRED[line.command]} "
                f"({reason_of(line)})"
            )

    async def _settle_abilities(self, line: IrcLine) -> None:
        kind = line.parameter(1).upper()
        names = {one.partition("=")[0] for one in line.parameter(-1).split()}
        if kind == "LS":
            self._offered |= names
            if line.parameter(2) != "*":
                await self._ask_for(self._offered & _WANTED)
        elif kind == "ACK":
            self._abilities |= names
            is_known = "sasl" in names and bool(self._login.password)
            await self._session.say(*(("AUTHENTICATE", "PLAIN") if is_known else ("CAP", "END")))
        elif kind == "NAK":
            await self._session.say("CAP", "END")

    async def _ask_for(self, names: set[str]) -> None:
        if not self._login.password:
            names.discard("sasl")
        wish = ("CAP", "REQ", " ".join(sorted(names))) if names else ("CAP", "END")
        await self._session.say(*wish)

    async def _identify(self) -> None:
        login = self._login
        account = login.account
        plain = f"{account}\0{account}\0{login.password.reveal()}".encode()
        coded = base64.b64encode(plain).decode("ascii")
        for start in range(0, len(coded) + 1, _SASL_CHUNK_CHARS):
            # One of the full length, or none, says that nothing follows
            await self._session.say("AUTHENTICATE", coded[start : start + _SASL_CHUNK_CHARS] or "+")

    async def _take_other_nick(self, line: IrcLine) -> None:
        if self._tried >= MAX_TRIED_NICKS:
            raise ChannelRefused(
                f"the IRC server refused every nick ({reason_of(line)}): set channels.irc.nick"
            )
        self._nick = f"{self._login.nick}{'_' * self._tried}"
        self._tried += 1
        _log.warning("irc: nick taken (nick=%s, next=%s)", self._login.nick, self._nick)
        await self._session.say("NICK", self._nick)
