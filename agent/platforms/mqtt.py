"""MQTT, composed."""

import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from agent.channels.base import Channel
from agent.channels.mqtt.channel import MqttChannel
from agent.channels.mqtt.connection import Broker
from agent.channels.mqtt.probing import probe
from agent.channels.mqtt.topics import Topics
from agent.channels.settings import ChannelsSettings, MqttSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.platforms.base import Platform, Reach, Wanted
from agent.platforms.credentials import find_secret
from agent.settings import expanded
from agent.tls import tls_context

_PORT, _TLS_PORT = 1883, 8883


class Mqtt(Platform):
    """A broker at which people and programs write, and the boards are shown."""

    name = MqttChannel.name
    about = "a broker at which people and programs write, and Home Assistant looks"
    wanted = (
        Wanted("url", "The broker, such as mqtts://broker.example"),
        Wanted("user", "Who the agent is there", is_needed=False),
        Wanted("password", "The password", is_secret=True, is_needed=False),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        wanted = _wanted(channels)
        folder = reach.paths.state_dir / self.name
        broker = broker_of(wanted, reach.environ)
        return MqttChannel(wanted, broker, folder, reach.boards, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        return await probe(broker_of(_wanted(channels), reach.environ))


PLATFORM = Mqtt()


def broker_of(wanted: MqttSettings, environ: Mapping[str, str]) -> Broker:
    """The broker of the configuration.

    Raises:
        ConfigRefused: its authority's certificate or the password cannot be read.
    """
    parts = urlsplit(wanted.url)
    is_secured = parts.scheme == "mqtts"
    try:
        port = parts.port or (_TLS_PORT if is_secured else _PORT)
    except ValueError as err:
        raise ConfigRefused("channels.mqtt.url has no port that there is") from err
    context = _context(wanted.ca_file, environ) if is_secured else None
    password = _password(wanted, environ)
    will = Topics(wanted.topic).status
    return Broker(parts.hostname or "", port, wanted.user, password, context, will)


def _wanted(channels: ChannelsSettings) -> MqttSettings:
    return channels.mqtt or MqttSettings()


def _password(wanted: MqttSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("mqtt_password", wanted.password, wanted.password_file, environ)


def _context(ca_file: str, environ: Mapping[str, str]) -> ssl.SSLContext:
    if not ca_file:
        return tls_context()
    path = expanded(ca_file, environ)
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as err:
        said = err.strerror or "it holds no certificate"
        raise ConfigRefused(f"channels.mqtt.ca_file {path} cannot be used: {said}") from err
