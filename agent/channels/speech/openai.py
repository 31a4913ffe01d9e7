"""Engines behind OpenAI's `/audio/transcriptions` and `/audio/speech`, and services like it.

What was said is the person's own words. Where it cannot be had, the sentence says why.
"""

import json

from agent.channels.multipart import MultipartForm
from agent.channels.speech.base import (
    MAX_SOUND_BYTES,
    OGG,
    SPEAK_TIMEOUT_S,
    TRANSCRIBE_TIMEOUT_S,
    WAV,
    Sound,
    spoken_in_time,
    words_or_reason,
)
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.config import Secret
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from agent.net.http import HttpClient, HttpRequest

# More than a quarter of an hour of speech
MAX_ANSWER_BYTES = 256 * 1024
_OK = 200
_USUAL_VOICE = "alloy"
# How a file begins
_MARKS = {b"OggS": OGG, b"RIFF": WAV}


class OpenAiRecogniser:
    """Client of a service that writes down."""

    def __init__(self, settings: SpeechSettings, key: Secret, http: HttpClient) -> None:
        self._settings = settings
        self._key = key
        self._http = http

    async def words(self, speech: Attachment) -> tuple[str, str]:
        return await words_or_reason(self._ask(speech))

    async def probe(self) -> str:
        return f"{self._settings.model} at {self._settings.base_url} writes voice messages down"

    async def _ask(self, speech: Attachment) -> str:
        told: dict[str, object] = {"model": self._settings.model, "response_format": "json"}
        if self._settings.language:
            told["language"] = self._settings.language
        form = MultipartForm(told, "file", speech)
        headers = {**form.headers, **_authorized(self._key)}
        url = f"{self._settings.base_url.rstrip('/')}/audio/transcriptions"
        request = HttpRequest("POST", url, headers, form.pieces())
        async with self._http.exchange(request, TRANSCRIBE_TIMEOUT_S) as answer:
            content = bytearray()
            while len(content) <= MAX_ANSWER_BYTES and (piece := await answer.read()):
                content += piece
            if answer.status != _OK:
                raise SpeechUnavailable(f"the speech service answered {answer.status}")
        return _text_of(bytes(content))


class OpenAiSpeaker:
    """Client of a service that speaks; it gives Opus, as voice messages are."""

    def __init__(self, settings: SpeakerSettings, key: Secret, http: HttpClient) -> None:
        self._settings = settings
        self._key = key
        self._http = http

    async def say(self, text: str) -> Sound:
        return await spoken_in_time(self._ask(text))

    async def probe(self) -> str:
        return f"speaks by {self._settings.model} at {self._settings.base_url}"

    async def _ask(self, text: str) -> Sound:
        told = {
            "model": self._settings.model,
            "voice": self._settings.voice or _USUAL_VOICE,
            "input": text,
            "response_format": "opus",
        }
        headers = {"content-type": "application/json", **_authorized(self._key)}
        url = f"{self._settings.base_url.rstrip('/')}/audio/speech"
        request = HttpRequest("POST", url, headers, json.dumps(told).encode())
        async with self._http.exchange(request, SPEAK_TIMEOUT_S) as answer:
            if answer.status != _OK:
                raise SpeechUnavailable(f"the speech service answered {answer.status}")
            content = bytearray()
            while piece := await answer.read():
                content += piece
                if len(content) > MAX_SOUND_BYTES:
                    raise SpeechUnavailable("the speech service sent too much sound")
        kind = _MARKS.get(bytes(content[:4]))
        if kind is None:
            raise SpeechUnavailable("the speech service sent neither Ogg nor WAV")
        return Sound(bytes(content), kind)


def _authorized(key: Secret) -> dict[str, str]:
    return {"authorization": f"Bearer {key.reveal()}"} if key else {}


def _text_of(content: bytes) -> str:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    text = told.get("text") if isinstance(told, dict) else None
    return text if isinstance(text, str) else ""
