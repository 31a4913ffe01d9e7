"""Speech-to-text service for platforms with voice messages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.channels.credentials import find_secret, one_line
from agent.channels.settings import ChannelsSettings, SpeechSettings
from agent.config import Secret
from agent.net.http import HttpClient

if TYPE_CHECKING:
    from agent.channels.transcriber import SpeechTranscriber


def transcriber(
    channels: ChannelsSettings, environ: Mapping[str, str], http: HttpClient
) -> "SpeechTranscriber | None":
    """Return the service; None if it is not configured.

    Raises:
        ConfigRefused: its key cannot be read.
    """
    if channels.speech is None:
        return None
    from agent.channels.transcriber import SpeechTranscriber  # noqa: PLC0415 - most agents have none

    return SpeechTranscriber(channels.speech, speech_key(channels.speech, environ), http)


def speech_key(wanted: SpeechSettings, environ: Mapping[str, str]) -> Secret:
    """Return the key, which is used only for the service that gave it."""
    key = find_secret("speech_key", wanted.api_key, wanted.api_key_file, environ)
    if key or wanted.base_url != SpeechSettings().base_url:
        return key
    return one_line(environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")
