"""Composition of the channels: those of the configured platforms, no others."""

import contextlib
from collections.abc import Iterator, Mapping

from agent.channels.base import Channel
from agent.channels.catalog import configured
from agent.channels.credentials import find_secret
from agent.channels.platform import PlatformContext, check_gateway
from agent.channels.speech.engines import speaker_key, speech_key
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.settings import GatewaySettings
from agent.settings import Settings


def open_channels(settings: Settings, reach: PlatformContext) -> tuple[Channel, ...]:
    """The channels of every platform that is configured.

    Raises:
        ConfigRefused: a platform is configured and cannot be used so.
    """
    channels: list[Channel] = []
    for platform in configured(settings.channels):
        check_gateway(platform, settings.channels, reach.environ, settings.gateway)
        channels.append(platform.open(settings.channels, reach))
    return tuple(channels)


def secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[Secret]:
    """Every secret that a platform is told, for whoever keeps them out of texts."""
    for platform in configured(settings.channels):
        with contextlib.suppress(ConfigRefused):
            yield from platform.secrets(settings.channels, environ)
    if settings.gateway is not None:
        with contextlib.suppress(ConfigRefused):
            yield gateway_token(settings.gateway, environ)
    if (speech := settings.channels.speech) is not None:
        with contextlib.suppress(ConfigRefused):
            yield speech_key(speech, environ)
        with contextlib.suppress(ConfigRefused):
            if speech.speaker is not None:
                yield speaker_key(speech.speaker, speech, environ)


def gateway_token(wanted: GatewaySettings, environ: Mapping[str, str]) -> Secret:
    """Return the token for the gateway's numbers; empty if none is configured."""
    return find_secret("gateway_token", wanted.token, wanted.token_file, environ)
