"""Slack, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings, SlackSettings
from agent.channels.slack.api import SlackApi, Tokens
from agent.channels.slack.channel import SlackChannel
from agent.channels.slack.listening import identify
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

# They go into a header: nothing else may be smuggled in with them
_TOKEN = re.compile(r"(xoxb|xapp)-[A-Za-z0-9.-]{1,300}")
_WHERE = "https://api.slack.com/apps"


class Slack(Platform):
    """An app of a workspace."""

    name = SlackChannel.name
    about = "an app of a workspace that people write to"
    wanted = (
        Wanted(
            "token",
            "The app's bot token, xoxb-...",
            f"Make an app at {_WHERE}, install it, and look at its page OAuth & Permissions.",
            is_secret=True,
        ),
        Wanted(
            "app_token",
            "The app-level token, xapp-...",
            "On the app's page Basic Information, with the right connections:write.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _bot(wanted, environ)
        yield _app(wanted, environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        return SlackChannel(_api(channels, reach), _wanted(channels), place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await identify(_api(channels, reach))


PLATFORM = Slack()


def _wanted(channels: ChannelsSettings) -> SlackSettings:
    return channels.slack or SlackSettings()


def _api(channels: ChannelsSettings, reach: Reach) -> SlackApi:
    """The app of the configuration.

    Raises:
        ConfigRefused: a token is missing, or is none.
    """
    wanted = _wanted(channels)
    tokens = Tokens(_bot(wanted, reach.environ), _app(wanted, reach.environ))
    if not tokens.bot:
        raise ConfigRefused(
            f"channels.slack has no token: make an app at {_WHERE}, install it, and set token_file "
            "or token, or BARNACLE_SLACK_TOKEN, to what its page OAuth & Permissions shows"
        )
    if not tokens.app:
        raise ConfigRefused(
            "channels.slack has no app_token: make one with the right connections:write on the "
            f"page Basic Information of the app at {_WHERE}, and set app_token_file or app_token, "
            "or BARNACLE_SLACK_APP_TOKEN"
        )
    return SlackApi(tokens, wanted.base_url, reach.http)


def _bot(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("slack_token", wanted.token, wanted.token_file, environ)
    return _checked(token, "token", "xoxb-")


def _app(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("slack_app_token", wanted.app_token, wanted.app_token_file, environ)
    return _checked(token, "app_token", "xapp-")


def _checked(token: Secret, key: str, begins: str) -> Secret:
    told = token.reveal() if token else begins + "-"
    if not told.startswith(begins) or not _TOKEN.fullmatch(told):
        raise ConfigRefused(f"channels.slack.{key} is not such a token: it begins with {begins}")
    return token
