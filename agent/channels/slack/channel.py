"""Slack channel, and the platform that builds it from the settings."""

import re
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.credentials import find_secret
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.settings import ChannelsSettings, SlackSettings
from agent.channels.slack.client import SlackApi, SlackTokens
from agent.channels.slack.socket_mode import SlackChannel
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.text.printable import printable_line

# The platform's names have 80
MAX_NAME_CHARS = 80


async def who(api: SlackApi) -> str:
    """Return the app's name and workspace.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("auth.test", {})
    name, user, team = (
        printable_line(str(me.get(key) or ""), MAX_NAME_CHARS)
        for key in ("user", "user_id", "team")
    )
    return f"@{name} (id {user}) is in {team}"


async def can_listen(api: SlackApi) -> None:
    """Return where the other token lets the app open connections of its own.

    Raises:
        ChannelError: it does not, or not now.
    """
    # An address that nobody connects to is forgotten there
    await api.socket_url()


# They go into a header: nothing else may be smuggled in with them
_TOKEN = re.compile(r"(xoxb|xapp)-[A-Za-z0-9.-]{1,300}")
_WHERE = "https://api.slack.com/apps"
# Hexadecimal so far
_SIGNING_SECRET = re.compile(r"[A-Za-z0-9]{16,128}")


class Slack(Platform):
    """Platform of an app in a Slack workspace."""

    name = SlackChannel.name
    about = "an app of a workspace that people write to"
    is_confirmed = False
    wanted = (
        SetupKey(
            "token",
            "The app's bot token, xoxb-...",
            f"Make an app at {_WHERE}, install it, and look at its page OAuth & Permissions.",
            is_secret=True,
        ),
        SetupKey(
            "app_token",
            "The app-level token, xapp-...",
            "For Socket Mode: on the app's page Basic Information, with connections:write.",
            is_secret=True,
            is_needed=False,
        ),
        SetupKey(
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

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        api, wanted = _api(channels, reach), _wanted(channels)
        secret = _way_in(wanted, reach.environ)
        if not secret:
            return SlackChannel(api, wanted, place, reach.clock)
        from agent.channels.push_ledger import PushLedger  # noqa: PLC0415 - Socket Mode needs none
        from agent.channels.slack.events_api import EventsApiChannel, EventsApiParts  # noqa: PLC0415 - as above

        mailbox = EventsApiParts(secret, PushLedger(place.folder / "ledger.db", reach.clock))
        return EventsApiChannel(api, wanted, place, reach.clock, mailbox)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        api = _api(channels, reach)
        told = await who(api)
        if self.comes_by_gateway(channels, reach.environ):
            return f"{told}; posts come to /{self.name} of the gateway"
        await can_listen(api)
        return f"{told}, and Socket Mode is on"


PLATFORM = Slack()


def _wanted(channels: ChannelsSettings) -> SlackSettings:
    return channels.slack or SlackSettings()


def _api(channels: ChannelsSettings, reach: PlatformContext) -> SlackApi:
    """Return the configured app.

    Raises:
        ConfigRefused: a token is missing, or is none.
    """
    wanted = _wanted(channels)
    bot = _bot(wanted, reach.environ)
    if not bot:
        raise ConfigRefused(
            f"channels.slack has no token: make an app at {_WHERE}, install it, and set "
            "token_file or token, or BARNACLE_SLACK_TOKEN, to the token on its page OAuth & "
            "Permissions"
        )
    _way_in(wanted, reach.environ)
    return SlackApi(SlackTokens(bot, _app(wanted, reach.environ)), wanted.base_url, reach.http)


def _way_in(wanted: SlackSettings, environ: Mapping[str, str]) -> Secret:
    """Return the secret that posts are signed with; empty in Socket Mode.

    Raises:
        ConfigRefused: it comes by neither, or by both.
    """
    app, signing = _app(wanted, environ), _signing(wanted, environ)
    if app and signing:
        raise ConfigRefused(
            "channels.slack has both app_token and signing_secret: keep app_token for Socket "
            "Mode, or signing_secret for posts to the gateway"
        )
    if not app and not signing:
        raise ConfigRefused(
            "channels.slack has no app_token: make one with the scope connections:write at "
            f"{_WHERE}, page Basic Information, and set app_token_file or app_token, or "
            "BARNACLE_SLACK_APP_TOKEN; or, if Slack can reach the gateway, set "
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
            "invalid channels.slack.signing_secret: expected the letters and digits of "
            f"Signing Secret on the app's page Basic Information at {_WHERE}"
        )
    return secret


def _checked(token: Secret, key: str, begins: str) -> Secret:
    told = token.reveal() if token else begins + "-"
    if not told.startswith(begins) or not _TOKEN.fullmatch(told):
        raise ConfigRefused(
            f"invalid channels.slack.{key}: expected a token that begins with {begins}"
        )
    return token
