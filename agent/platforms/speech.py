"""The service that writes down what was said, for every platform with voice messages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.channels.settings import ChannelsSettings, SpeechSettings
from agent.config import Secret
from agent.http import HttpClient
from agent.platforms.credentials import find_secret, one_line

if TYPE_CHECKING:
    from agent.channels.transcribing import Transcriber


def transcriber(
    channels: ChannelsSettings, environ: Mapping[str, str], http: HttpClient
) -> "Transcriber | None":
    """None where none is configured.

    Raises:
        ConfigRefused: its key cannot be read.
    """
    if channels.speech is None:
        return None
    from agent.channels.transcribing import Transcriber  # noqa: PLC0415 - most agents have none

    return Transcriber(channels.speech, speech_key(channels.speech, environ), http)


def speech_key(wanted: SpeechSettings, environ: Mapping[str, str]) -> Secret:
    """A key is for the service that gave it, and for no other."""
    key = find_secret("speech_key", wanted.api_key, wanted.api_key_file, environ)
    if key or wanted.base_url != SpeechSettings().base_url:
        return key
    return one_line(environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")
