"""Slack, composed."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.settings import ChannelsSettings, SlackSettings
from agent.channels.slack.api import SlackApi, Tokens
from agent.channels.slack.channel import SlackChannel
from agent.channels.slack.probing import can_listen, who
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret

# They go into a header: nothing else may be smuggled in with them
_TOKEN = re.compile(r"(xoxb|xapp)-[A-Za-z0-9.-]{1,300}")
_WHERE = "https://api.slack.com/apps"
# Hexadecimal so far
_SIGNING_SECRET = re.compile(r"[A-Za-z0-9]{16,128}")


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
            "For Socket Mode: on the app's page Basic Information, with connections:write.",
            is_secret=True,
            is_needed=False,
        ),
        Wanted(
            "signing_secret",
            "The Signing Secret",
            "Only without Socket Mode, where Slack posts to the gateway: on the same page.",
            is_secret=True,
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _bot(wanted, environ)
        yield _app(wanted, environ)
        yield _signing(wanted, environ)

    def comes_by_gateway(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> bool:
        return bool(_way_in(_wanted(channels), environ))

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        api, wanted = _api(channels, reach), _wanted(channels)
        secret = _way_in(wanted, reach.environ)
        if not secret:
            return SlackChannel(api, wanted, place, reach.clock)
        from agent.channels.ledger import Ledger  # noqa: PLC0415 - Socket Mode needs none
        from agent.channels.slack.pushing import Mailbox, PushedSlackChannel  # noqa: PLC0415 - as above

        mailbox = Mailbox(secret, Ledger(place.folder / "ledger.db", reach.clock))
        return PushedSlackChannel(api, wanted, place, reach.clock, mailbox)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        api = _api(channels, reach)
        told = await who(api)
        if self.comes_by_gateway(channels, reach.environ):
            return f"{told}; posts come to /{self.name} of the gateway"
        await can_listen(api)
        return f"{told}, and Socket Mode is on"


PLATFORM = Slack()


def _wanted(channels: ChannelsSettings) -> SlackSettings:
    return channels.slack or SlackSettings()


def _api(channels: ChannelsSettings, reach: Reach) -> SlackApi:
    """The app of the configuration.

    Raises:
        ConfigRefused: a token is missing, or is none.
    """
    wanted = _wanted(channels)
    bot = _bot(wanted, reach.environ)
    if not bot:
        raise ConfigRefused(
            f"channels.slack has no token: make an app at {_WHERE}, install it, and set token_file "
            "or token, or BARNACLE_SLACK_TOKEN, to what its page OAuth & Permissions shows"
        )
    _way_in(wanted, reach.environ)
    return SlackApi(Tokens(bot, _app(wanted, reach.environ)), wanted.base_url, reach.http)


def _way_in(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    """Return the secret that posts are signed with; empty in Socket Mode.

    Raises:
        ConfigRefused: it comes by neither, or by both.
    """
    app, signing = _app(wanted, environ), _signing(wanted, environ)
    if app and signing:
        raise ConfigRefused(
            "channels.slack has an app_token and a signing_secret: Slack brings what is said by "
            "Socket Mode or to the gateway, so leave out one of them"
        )
    if not app and not signing:
        raise ConfigRefused(
            "channels.slack has no app_token: make one with the right connections:write on the "
            f"page Basic Information of the app at {_WHERE}, and set app_token_file or app_token, "
            "or BARNACLE_SLACK_APP_TOKEN; or, where Slack can reach the gateway, set "
            "signing_secret_file to a file with the Signing Secret of that page"
        )
    return signing


def _bot(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("slack_token", wanted.token, wanted.token_file, environ)
    return _checked(token, "token", "xoxb-")


def _app(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("slack_app_token", wanted.app_token, wanted.app_token_file, environ)
    return _checked(token, "app_token", "xapp-")


def _signing(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    given, file = wanted.signing_secret, wanted.signing_secret_file
    secret = find_secret("slack_signing_secret", given, file, environ)
    if secret and not _SIGNING_SECRET.fullmatch(secret.reveal()):
        raise ConfigRefused(
            "channels.slack.signing_secret is no such secret: it is the Signing Secret of the "
            f"app's page Basic Information at {_WHERE}, letters and digits"
        )
    return secret


def _checked(token: Secret, key: str, begins: str) -> Secret:
    told = token.reveal() if token else begins + "-"
    if not told.startswith(begins) or not _TOKEN.fullmatch(told):
        raise ConfigRefused(f"channels.slack.{key} is not such a token: it begins with {begins}")
    return token
