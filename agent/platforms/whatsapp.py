"""WhatsApp, composed."""

from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.ledger import Ledger
from agent.channels.settings import ChannelsSettings, WhatsAppSettings
from agent.channels.whatsapp.api import WhatsAppApi
from agent.channels.whatsapp.channel import PATH, House, WhatsAppChannel
from agent.channels.whatsapp.signing import verify_token
from agent.channels.whatsapp.windows import Windows
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret


class WhatsApp(Platform):
    """A number of a business, by the Cloud API."""

    name = WhatsAppChannel.name
    about = "a number of yours at WhatsApp's Cloud API, which posts to the gateway"
    wanted = (
        Wanted("phone_number_id", "The id of the number", "Not the number: the app's API Setup"),
        Wanted(
            "token",
            "The token",
            "Of a system user of the business, with whatsapp_business_messaging",
            is_secret=True,
        ),
        Wanted("app_secret", "The app's secret", "The app's page Settings, Basic", is_secret=True),
    )
    is_pushed = True

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _token(wanted, environ)
        yield _app_secret(wanted, environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        place = place_of(self.name, channels, reach)
        ledger = Ledger(place.folder / "ledger.db", reach.clock)
        secret, api = _signing(channels, reach), _api(channels, reach)
        windows = Windows(place.folder / "windows.json", api.number_id, reach.clock)
        return WhatsAppChannel(api, House(secret, ledger, windows, place, reach.clock))

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        token = verify_token(_signing(channels, reach).reveal())
        who = await _api(channels, reach).whoami()
        return f"{who}; posts come to {PATH} of the gateway, with the verify token {token}"


PLATFORM = WhatsApp()


def _wanted(channels: ChannelsSettings) -> WhatsAppSettings:
    return channels.whatsapp or WhatsAppSettings()


def _token(wanted: WhatsAppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("whatsapp_token", wanted.token, wanted.token_file, environ)


def _app_secret(wanted: WhatsAppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("whatsapp_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _signing(channels: ChannelsSettings, reach: Reach) -> Secret:
    secret = _app_secret(_wanted(channels), reach.environ)
    if not secret:
        raise ConfigRefused(
            "channels.whatsapp has no app_secret, so anybody could write there: set "
            "app_secret_file to a file with what the app's page shows at Settings, Basic"
        )
    return secret


def _api(channels: ChannelsSettings, reach: Reach) -> WhatsAppApi:
    wanted = _wanted(channels)
    if not wanted.phone_number_id:
        raise ConfigRefused(
            "channels.whatsapp has no phone_number_id: the app's API Setup shows it, below the "
            "number"
        )
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.whatsapp has no token: set token_file to a file with the token of a system "
            "user of the business that may use whatsapp_business_messaging"
        )
    return WhatsAppApi(wanted.base_url, wanted.phone_number_id, token, reach.http)
