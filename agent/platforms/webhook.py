"""The signed webhook, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.ledger import Ledger
from agent.channels.settings import ChannelsSettings, WebhookSettings
from agent.channels.webhook.channel import Peer, WebhookChannel
from agent.channels.webhook.signing import key_of
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted
from agent.platforms.credentials import find_secret


class Webhook(Platform):
    """A program that speaks for people."""

    name = WebhookChannel.name
    about = "a program of yours that speaks for people"
    wanted = (
        Wanted("reply_url", "Where it takes answers, by a signed POST"),
        Wanted(
            "secret",
            "What both sign with",
            'It is made by: echo "whsec_$(openssl rand -base64 32)"',
            is_secret=True,
        ),
    )
    is_pushed = True

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        peer = _peer(_wanted(channels), reach.environ)
        ledger = Ledger(reach.paths.webhook_db, reach.clock)
        return WebhookChannel(peer, ledger, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return f"answers go to {_peer(_wanted(channels), reach.environ).url}, which was not asked"


PLATFORM = Webhook()


def _wanted(channels: ChannelsSettings) -> WebhookSettings:
    return channels.webhook or WebhookSettings()


def _secret(wanted: WebhookSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("webhook_secret", wanted.secret, wanted.secret_file, environ)


def _peer(wanted: WebhookSettings, environ: Mapping[str, str]) -> Peer:
    """Return the address of answers, and the key that messages are signed with."""
    secret = _secret(wanted, environ)
    if not secret:
        raise ConfigRefused(
            "channels.webhook has no secret, so anybody could write there: set secret_file to a "
            'file with what `echo "whsec_$(openssl rand -base64 32)"` prints'
        )
    if not wanted.reply_url:
        raise ConfigRefused("channels.webhook has no reply_url: answers have nowhere to go")
    return Peer(wanted.reply_url, key_of(secret.reveal()))
