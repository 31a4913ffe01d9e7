"""Matrix, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.matrix.api import MatrixApi
from agent.channels.matrix.channel import MatrixChannel
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret
from agent.printable import printable_line

MAX_ACCOUNT_CHARS = 255


class Matrix(Platform):
    """An account on a homeserver."""

    name = MatrixChannel.name
    about = "an account on a homeserver, in rooms without encryption"
    wanted = (
        Wanted("base_url", "The homeserver, such as https://matrix.org", is_needed=False),
        Wanted(
            "token",
            "The access token of its account",
            "Log in as the agent's account in Element: All settings, Help & About, Access Token; "
            "then close the window without signing out.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return MatrixChannel(_api(channels, reach), _wanted(channels).groups, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        account = printable_line(await _api(channels, reach).whoami(), MAX_ACCOUNT_CHARS)
        return f"{account} at {_wanted(channels).base_url}, which is asked for what is new"


PLATFORM = Matrix()


def _wanted(channels: ChannelsSettings) -> MatrixSettings:
    return channels.matrix or MatrixSettings()


def _token(wanted: MatrixSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("matrix_token", wanted.token, wanted.token_file, environ)


def _api(channels: ChannelsSettings, reach: Reach) -> MatrixApi:
    wanted = _wanted(channels)
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.matrix has no token: log in as the agent's account and set token_file or "
            "token, or BARNACLE_MATRIX_TOKEN"
        )
    return MatrixApi(wanted.base_url, token, reach.http)
