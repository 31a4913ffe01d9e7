"""Login by NickServ, on servers that take no account themselves (SASL).

Where no services run, or while they are away, anybody can take that nick: the password goes only to
whom the server calls one of the network's.
"""

from collections.abc import Sequence

from agent.channels.irc.client import IrcConnection
from agent.channels.irc.inbound import IrcLine, folded
from agent.channels.irc.login import IrcLogin
from agent.errors import ChannelUnavailable
from agent.text.printable import printable_line

SERVICE = "NickServ"
MAX_SERVER_CHARS = 64
# RPL_WHOISHELPOP and RPL_WHOISOPERATOR: "is a Network Service", which nobody gives themselves
_OF_THE_NETWORK = frozenset({"310", "313"})
_IS_THERE, _AT_SERVER = "311", "312"
# How networks name the server of theirs; only who runs the network links one to it
_SERVERS = ("services", "service")


async def log_in_by_service(session: IrcConnection, login: IrcLogin) -> str:
    """Tell NickServ the password; return why it was not told, as the end of a sentence.

    Raises:
        ChannelUnavailable: the connection is gone.
    """
    try:
        heard = await session.settle([("WHOIS", SERVICE)])
    except ChannelUnavailable as err:
        return f"the server did not say who NickServ is ({err})"
    about = [line for line in heard if folded(line.parameter(1)) == folded(SERVICE)]
    if all(line.command != _IS_THERE for line in about):
        return "the server takes no account (SASL), and no NickServ is there"
    if not _is_of_the_network(about):
        return (
            "the server takes no account (SASL), and does not call the NickServ at "
            f"{_server(about)} a service of the network, so it was not told the password"
        )
    try:
        told = f"IDENTIFY {login.account} {login.password.reveal()}"
        await session.say("PRIVMSG", SERVICE, told)
    except ValueError:
        return "the password is too long for NickServ: choose one of at most 300 characters"
    return ""


def _is_of_the_network(about: Sequence[IrcLine]) -> bool:
    named = _server(about).lower().split(".")
    is_called = any(line.command in _OF_THE_NETWORK for line in about)
    return is_called or (len(named) > 1 and named[0] in _SERVERS)


def _server(about: Sequence[IrcLine]) -> str:
    found = next((line.parameter(2) for line in about if line.command == _AT_SERVER), "")
    return printable_line(found, MAX_SERVER_CHARS)
