"""IRC, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.irc.channel import IrcChannel
from agent.channels.irc.welcome import Login, enter
from agent.channels.settings import ChannelsSettings, IrcSettings
from agent.config import Secret
from agent.platforms.base import Platform, Reach, Wanted
from agent.platforms.credentials import find_secret
from agent.printable import printable_line

MAX_NICK_CHARS = 64


class Irc(Platform):
    """A nick on one server."""

    name = IrcChannel.name
    about = "a nick on one server, in its channels and in private"
    wanted = (
        Wanted("url", "The server, such as ircs://irc.libera.chat"),
        Wanted("nick", "The nick", is_needed=False),
        Wanted("channels", "Channels to join, such as #lab", is_needed=False, is_list=True),
        Wanted("password", "The password of its account", is_secret=True, is_needed=False),
    )

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
