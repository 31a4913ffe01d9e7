"""Engines of speech as they are configured; each is loaded where it is wanted."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.credentials import find_secret, one_line
from agent.channels.speech_settings import OPENAI_URL, SpeakerSettings, SpeechSettings
from agent.config import Secret
from agent.net.http import HttpClient

if TYPE_CHECKING:
    from agent.channels.speech.base import Recogniser, Speaker
    from agent.channels.speech.programs import SoundPrograms


class SpeechParts(Struct, frozen=True):
    """Parts that engines are made of.

    Args:
        workspace: of the agent; no program of an engine sees it.
        names: of the things that somebody may speak of.
        wake: what a sentence may begin with; empty for nothing.
    """

    environ: Mapping[str, str]
    http: HttpClient
    workspace: Path
    names: Callable[[], Iterable[str]] = tuple
    wake: str = ""


def open_recogniser(wanted: SpeechSettings | None, parts: SpeechParts) -> "Recogniser | None":
    """Return the engine that writes down; None if none is configured.

    Raises:
        ConfigRefused: its key cannot be read.
    """
    if wanted is None:
        return None
    if wanted.kind == "openai":
        from agent.channels.speech.openai import OpenAiRecogniser  # noqa: PLC0415 - most agents have none

        return OpenAiRecogniser(wanted, speech_key(wanted, parts.environ), parts.http)
    programs = open_programs(parts)
    if wanted.kind == "wyoming":
        from agent.channels.speech.wyoming import WyomingRecogniser  # noqa: PLC0415 - as above

        return WyomingRecogniser(wanted, programs)
    from agent.channels.speech.pocketsphinx import PocketsphinxRecogniser  # noqa: PLC0415 - as above

    return PocketsphinxRecogniser(parts.names, programs, parts.wake)


def open_speaker(wanted: SpeechSettings | None, parts: SpeechParts) -> "Speaker | None":
    """Return the engine that speaks; None if none is configured.

    Raises:
        ConfigRefused: its key cannot be read.
    """
    if wanted is None or (speaker := wanted.speaker) is None:
        return None
    if speaker.kind == "openai":
        from agent.channels.speech.openai import OpenAiSpeaker  # noqa: PLC0415 - as above

        key = speaker_key(speaker, wanted, parts.environ)
        return OpenAiSpeaker(speaker, key, parts.http)
    if speaker.kind == "wyoming":
        from agent.channels.speech.wyoming import WyomingSpeaker  # noqa: PLC0415 - as above

        return WyomingSpeaker(speaker)
    from agent.channels.speech.espeak import EspeakSpeaker  # noqa: PLC0415 - as above

    return EspeakSpeaker(speaker, open_programs(parts))


async def probe(wanted: SpeechSettings, parts: SpeechParts) -> str:
    """Return how the engines are, in a sentence.

    Raises:
        ConfigRefused: a key cannot be read.
        SpeechUnavailable: one of them cannot be used.
    """
    engines = (open_recogniser(wanted, parts), open_speaker(wanted, parts))
    return "; ".join([await one.probe() for one in engines if one is not None])


def open_programs(parts: SpeechParts) -> "SoundPrograms":
    """Return what runs the programs of engines."""
    from agent.channels.speech.programs import SoundPrograms  # noqa: PLC0415 - as above
    from agent.security.sandbox.choice import choose  # noqa: PLC0415 - as above

    return SoundPrograms(partial(choose, parts.workspace))


def speech_key(wanted: SpeechSettings, environ: Mapping[str, str]) -> Secret:
    """Return the key, which is used only for the service that gave it."""
    key = find_secret("speech_key", wanted.api_key, wanted.api_key_file, environ)
    return key or _openai_key(wanted.base_url, environ)


def speaker_key(
    speaker: SpeakerSettings, wanted: SpeechSettings, environ: Mapping[str, str]
) -> Secret:
    """Return the key of what speaks: its own, or that of the same service that writes down."""
    if speaker.api_key or speaker.api_key_file:
        return find_secret("speech_key", speaker.api_key, speaker.api_key_file, environ)
    if wanted.kind == "openai" and speaker.base_url == wanted.base_url:
        return speech_key(wanted, environ)
    return _openai_key(speaker.base_url, environ)


def _openai_key(base_url: str, environ: Mapping[str, str]) -> Secret:
    if base_url != OPENAI_URL:
        return Secret()
    return one_line(environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")
