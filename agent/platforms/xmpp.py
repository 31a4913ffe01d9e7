"""XMPP, composed; the library is an extra."""

import ssl
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings, XmppSettings
from agent.channels.xmpp.channel import XmppChannel
from agent.channels.xmpp.connection import connected
from agent.channels.xmpp.login import Login
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret
from agent.settings import expanded
from agent.tls import tls_context
from agent.wording import how_to_install

LIBRARY = "slixmpp"
REMEDY = f"channels.xmpp needs slixmpp: {how_to_install('xmpp')}"
_PORT, _TLS_PORT = 5222, 5223


class Xmpp(Platform):
    """An account on any server."""

    name = XmppChannel.name
    about = "an account on any server, in private and in rooms"
    wanted = (
        Wanted(
            "address",
            "The address of its account, such as barnacle@example.org",
            "Make an account for the agent with any program for XMPP, or at your own server.",
        ),
        Wanted("password", "The password", is_secret=True),
        Wanted("rooms", "Rooms to be in", is_needed=False, is_list=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        login = login_of(_wanted(channels), reach.environ)
        return XmppChannel(login, _wanted(channels).rooms, place, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        login = login_of(_wanted(channels), reach.environ)
        async with connected(login, lambda: None) as connection:
            return f"{connection.address}, which is told at once of what is said"


PLATFORM = Xmpp()


def login_of(wanted: XmppSettings, environ: Mapping[str, str]) -> Login:
    """The account of the configuration.

    Raises:
        ConfigRefused: it cannot be used.
    """
    if find_spec(LIBRARY) is None:
        raise ConfigRefused(REMEDY)
    if not wanted.address:
        raise ConfigRefused("channels.xmpp has no address: set it to that of the agent's account")
    password = _password(wanted, environ)
    if not password:
        raise ConfigRefused(
            "channels.xmpp has no password: set password_file or password, or "
            "BARNACLE_XMPP_PASSWORD"
        )
    parts = urlsplit(wanted.server)
    is_direct = parts.scheme == "xmpps"
    try:
        port = parts.port or (_TLS_PORT if is_direct else _PORT)
    except ValueError as err:
        raise ConfigRefused("channels.xmpp.server has no port that there is") from err
    context = _context(wanted.ca_file, environ)
    return Login(wanted.address, password, context, parts.hostname or "", port, is_direct)


def _wanted(channels: ChannelsSettings) -> XmppSettings:
    return channels.xmpp or XmppSettings()


def _password(wanted: XmppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("xmpp_password", wanted.password, wanted.password_file, environ)


def _context(ca_file: str, environ: Mapping[str, str]) -> ssl.SSLContext:
    if not ca_file:
        return tls_context()
    path = expanded(ca_file, environ)
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as err:
        said = err.strerror or "it holds no certificate"
        raise ConfigRefused(f"channels.xmpp.ca_file {path} cannot be used: {said}") from err
