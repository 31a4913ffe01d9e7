"""Matrix, composed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from agent.channels.base import Channel
from agent.channels.matrix.api import Access, FixedToken, MatrixApi
from agent.channels.matrix.channel import MatrixChannel
from agent.channels.matrix.login import Login
from agent.channels.matrix.secrecy import encryption_for, has_libraries
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
    about = "an account on a homeserver"
    wanted = (
        Wanted("base_url", "The homeserver, such as https://matrix.org", is_needed=False),
        Wanted(
            "user",
            "The account's name",
            "Make an account for the agent alone. With its name and password the agent has a login "
            "of its own, which encrypted rooms need; leave it empty to give an access token.",
            is_needed=False,
        ),
        Wanted("password", "Its password", is_secret=True, is_needed=False),
        Wanted(
            "token",
            "Its access token, where there is no password",
            "Log in as the agent's account in Element: All settings, Help & About, Access Token; "
            "then close the window without signing out.",
            is_secret=True,
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _token(wanted, environ)
        yield _password(wanted, environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        wanted = _wanted(channels)
        api = MatrixApi(wanted.base_url, _access(wanted, reach, place.folder), reach.http)
        crypt = encryption_for(api, place.folder, reach.clock)
        return MatrixChannel(api, crypt, wanted.groups, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        wanted = _wanted(channels)
        folder = reach.paths.state_dir / self.name
        access = _access(wanted, reach, folder)
        try:
            told = await MatrixApi(wanted.base_url, access, reach.http).whoami()
        finally:
            if isinstance(access, Login):
                await access.leave_if_new()
        account = printable_line(told, MAX_ACCOUNT_CHARS)
        said = f"{account} at {wanted.base_url}, which is asked for what is new"
        return said if has_libraries() else f"{said}; encrypted rooms need the extra matrix"


PLATFORM = Matrix()


def _wanted(channels: ChannelsSettings) -> MatrixSettings:
    return channels.matrix or MatrixSettings()


def _token(wanted: MatrixSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("matrix_token", wanted.token, wanted.token_file, environ)


def _password(wanted: MatrixSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("matrix_password", wanted.password, wanted.password_file, environ)


def _access(wanted: MatrixSettings, reach: Reach, folder: Path) -> Access:
    if wanted.user:
        if password := _password(wanted, reach.environ):
            path = folder / "login.json"
            return Login(wanted.base_url, wanted.user, password, path, reach.http)
        raise ConfigRefused(
            "channels.matrix has a user and no password: set password_file or password, or "
            "BARNACLE_MATRIX_PASSWORD"
        )
    if token := _token(wanted, reach.environ):
        return FixedToken(token)
    raise ConfigRefused(
        "channels.matrix has no login: set user and password_file, or token_file or token, or "
        "BARNACLE_MATRIX_TOKEN"
    )
