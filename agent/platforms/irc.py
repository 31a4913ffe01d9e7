"""IRC, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.irc.channel import IrcChannel
from agent.channels.irc.welcome import Login, enter
from agent.channels.settings import ChannelsSettings, IrcSettings
from agent.config import Secret
from agent.platforms.base import Platform, Reach
from agent.platforms.credentials import find_secret
from agent.printable import printable_line

MAX_NICK_CHARS = 64


class Irc(Platform):
    """A nick on one server."""

    name = IrcChannel.name

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        wanted = _wanted(channels)
        return IrcChannel(wanted, _password(wanted, reach.environ), reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        wanted = _wanted(channels)
        password = _password(wanted, reach.environ)
        account = wanted.account or wanted.nick
        welcome = await enter(Login(wanted.url, wanted.nick, account, password))
        await welcome.session.aclose()
        logged_in = f"as {account}" if "sasl" in welcome.abilities else "with no account"
        return f"{wanted.url} takes {printable_line(welcome.nick, MAX_NICK_CHARS)} {logged_in}"


PLATFORM = Irc()


def _wanted(channels: ChannelsSettings) -> IrcSettings:
    return channels.irc or IrcSettings()


def _password(wanted: IrcSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("irc_password", wanted.password, wanted.password_file, environ)
