"""How people reach the agent, composed: every platform that is configured, and nothing of others.

A platform's code is loaded only where its table is in the configuration.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.channels.base import Channel
from agent.channels.settings import (
    ChannelsSettings,
    SignalSettings,
    SpeechSettings,
    TelegramSettings,
    WebhookSettings,
)
from agent.clock import Clock
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.settings import GatewaySettings
from agent.http import HttpClient
from agent.settings import Paths, Settings, expanded

if TYPE_CHECKING:
    from agent.channels.keeping import Knows
    from agent.channels.telegram.api import TelegramApi
    from agent.channels.transcribing import Transcriber

# ruff: noqa: PLC0415  # platforms begin where they are configured, or never

# Longer than any secret that a platform gives
MAX_SECRET_BYTES = 4096
# Where systemd puts what `LoadCredential=` names
_CREDENTIALS = "CREDENTIALS_DIRECTORY"
# It is part of an address: nothing else may be smuggled in with it
_BOT_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")

# What is typed instead of a message, for platforms that show a list of it
COMMANDS = (
    ("help", "what can be typed here"),
    ("new", "begin a new conversation"),
    ("status", "how the device, the board and the model are"),
    ("stop", "break off what is being done"),
    ("estop", "emergency stop: every output safe"),
    ("memory", "what is remembered of you"),
    ("model", "which model answers here"),
    ("models", "the models that there are"),
    ("board", "how the boards are, and what is wired to them"),
    ("jobs", "what is done for you at times"),
    ("pair", "say a code, so that the agent knows you"),
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What platforms share.

    Args:
        knows: which messages may leave files here.
    """

    paths: Paths
    environ: Mapping[str, str]
    http: HttpClient
    clock: Clock
    knows: "Knows" = lambda _inbound: True


def open_channels(settings: Settings, reach: Reach) -> tuple[Channel, ...]:
    """The channels of every platform that is configured.

    Raises:
        ConfigRefused: a platform is configured and cannot be used so.
    """
    channels: list[Channel] = []
    if settings.channels.telegram is not None:
        channels.append(_telegram(settings.channels.telegram, settings.channels, reach))
    if settings.channels.signal is not None:
        channels.append(_signal(settings.channels.signal, settings.channels, reach))
    if settings.channels.webhook is not None:
        if settings.gateway is None:
            raise ConfigRefused("channels.webhook comes in by the gateway: add a [gateway] table")
        channels.append(_webhook(settings.channels.webhook, reach))
    return tuple(channels)


def secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[Secret]:
    """Every secret that a platform is told, for whoever keeps them out of texts."""
    channels = settings.channels
    if channels.telegram is not None:
        with contextlib.suppress(ConfigRefused):
            yield _telegram_token(channels.telegram, environ)
    if channels.webhook is not None:
        with contextlib.suppress(ConfigRefused):
            yield _webhook_secret(channels.webhook, environ)
    if settings.gateway is not None:
        with contextlib.suppress(ConfigRefused):
            yield gateway_token(settings.gateway, environ)
    if channels.speech is not None:
        with contextlib.suppress(ConfigRefused):
            yield _speech_key(channels.speech, environ)


def telegram_api(
    wanted: TelegramSettings, environ: Mapping[str, str], http: HttpClient
) -> "TelegramApi":
    """The bot of the configuration.

    Raises:
        ConfigRefused: there is no token, or none that is one.
    """
    from agent.channels.telegram.api import TelegramApi

    token = _telegram_token(wanted, environ)
    if not token:
        raise ConfigRefused(
            "channels.telegram has no token: ask @BotFather for one and set token_file or token, "
            "or BARNACLE_TELEGRAM_TOKEN"
        )
    return TelegramApi(token, wanted.base_url, http)


def _telegram(wanted: TelegramSettings, channels: ChannelsSettings, reach: Reach) -> Channel:
    from agent.channels.keeping import Keeping
    from agent.channels.telegram.channel import Place, TelegramChannel

    api = telegram_api(wanted, reach.environ, reach.http)
    place = Place(
        reach.paths.state_dir / "telegram",
        Keeping(reach.paths.inbox),
        reach.knows,
        COMMANDS,
        _transcriber(channels, reach),
    )
    return TelegramChannel(api, wanted, place, reach.clock)


def _signal(wanted: SignalSettings, channels: ChannelsSettings, reach: Reach) -> Channel:
    from agent.channels.keeping import Keeping
    from agent.channels.signal.channel import Place, SignalChannel

    place = Place(
        reach.paths.state_dir / "signal",
        Keeping(reach.paths.inbox),
        reach.knows,
        _transcriber(channels, reach),
    )
    return SignalChannel(wanted, place, reach.http, reach.clock)


def _webhook(wanted: WebhookSettings, reach: Reach) -> Channel:
    from agent.channels.webhook.channel import Peer, WebhookChannel
    from agent.channels.webhook.ledger import Ledger

    peer = Peer(wanted.reply_url, check_webhook(wanted, reach.environ))
    ledger = Ledger(reach.paths.webhook_db, reach.clock)
    return WebhookChannel(peer, ledger, reach.http, reach.clock)


def check_webhook(wanted: WebhookSettings, environ: Mapping[str, str]) -> bytes:
    """The key that its messages are signed with.

    Raises:
        ConfigRefused: there is none, or nowhere to send answers.
    """
    from agent.channels.webhook.signing import key_of

    secret = _webhook_secret(wanted, environ)
    if not secret:
        raise ConfigRefused(
            "channels.webhook has no secret, so anybody could write there: set secret_file to a "
            'file with what `echo "whsec_$(openssl rand -base64 32)"` prints'
        )
    if not wanted.reply_url:
        raise ConfigRefused("channels.webhook has no reply_url: answers have nowhere to go")
    return key_of(secret.reveal())


def _transcriber(channels: ChannelsSettings, reach: Reach) -> "Transcriber | None":
    if channels.speech is None:
        return None
    from agent.channels.transcribing import Transcriber

    return Transcriber(channels.speech, _speech_key(channels.speech, reach.environ), reach.http)


def _telegram_token(wanted: TelegramSettings, environ: Mapping[str, str]) -> Secret:
    token = _secret("telegram_token", wanted.token, wanted.token_file, environ)
    if token and not _BOT_TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            "channels.telegram.token is no token of a bot: @BotFather gives one such as 123456:ABC-"
        )
    return token


def _webhook_secret(wanted: WebhookSettings, environ: Mapping[str, str]) -> Secret:
    return _secret("webhook_secret", wanted.secret, wanted.secret_file, environ)


def gateway_token(wanted: GatewaySettings, environ: Mapping[str, str]) -> Secret:
    """What lets somebody look at the gateway's numbers; empty where none is configured."""
    return _secret("gateway_token", wanted.token, wanted.token_file, environ)


def _speech_key(wanted: SpeechSettings, environ: Mapping[str, str]) -> Secret:
    key = _secret("speech_key", wanted.api_key, wanted.api_key_file, environ)
    if key or wanted.base_url != SpeechSettings().base_url:
        # A key is for the service that gave it, and for no other
        return key
    return _plain(environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")


def _secret(name: str, given: Secret, file: str, environ: Mapping[str, str]) -> Secret:
    """From the table, the file it names, the environment, or what systemd hands over."""
    if given:
        return given
    if file:
        return _read(expanded(file, environ))
    variable = f"BARNACLE_{name.upper()}"
    if told := environ.get(variable, ""):
        return _plain(told, variable)
    folder = environ.get(_CREDENTIALS)
    path = Path(folder) / name if folder else None
    return _read(path) if path is not None and path.exists() else Secret()


def _read(path: Path) -> Secret:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES)
    except OSError as err:
        raise ConfigRefused(f"{path} cannot be read: {err.strerror}") from err
    return _plain(content.decode("utf-8", "replace"), str(path))


def _plain(text: str, source: str) -> Secret:
    try:
        return Secret(text.strip())
    except ValueError as err:
        raise ConfigRefused(f"{source} must hold one line") from err
