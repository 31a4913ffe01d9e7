"""Engines of the house by Wyoming, such as faster-whisper and Piper: the agent is their client.

The protocol knows no password and no encryption: use it in a network that you trust. A server may
lie, flood or be silent; it gets its time and its bytes, and no more.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from agent.channels.speech.base import (
    MAX_SOUND_BYTES,
    WAV,
    Sound,
    spoken_in_time,
    words_or_reason,
)
from agent.channels.speech.pcm import SAMPLE_BYTES, Pcm, pcm_of, wav_of
from agent.channels.speech.programs import SoundPrograms
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from agent.net.wyoming import MAX_LINE_BYTES, WireRefused, WyomingEvent, read_event, write_event
from agent.text.printable import printable_line

# A host of the house answers in a fraction of it
CONNECT_TIMEOUT_S = 5.0
# A description comes at once
PROBE_TIMEOUT_S = 5.0
# Pieces of an answer, of which the smallest that servers send are 1 KB
MAX_EVENTS = 8192
# A fifth of a second at the usual rate
_CHUNK_BYTES = 6400
_MAX_NAME_CHARS = 60
# What is said of a server without an ability
_LACKING = {
    "asr": "no speech is recognised",
    "tts": "nothing speaks",
    "wake": "no wake word is heard",
}


class WyomingConnection:
    """One conversation with a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def tell(self, kind: str, data: Mapping[str, Any], payload: bytes = b"") -> None:
        await write_event(self._writer, WyomingEvent(kind, data, payload))

    async def events(self, *, is_patient: bool = False) -> AsyncIterator[WyomingEvent]:
        """Yield the server's events.

        Args:
            is_patient: it may say nothing for ever.

        Raises:
            SpeechUnavailable: it reports an error, leaves, or says too much.
        """
        for _ in range(MAX_EVENTS):
            try:
                event = await read_event(self._reader, keeps_sound=True, is_patient=is_patient)
            except WireRefused as err:
                raise SpeechUnavailable(f"the speech server is not understood: {err}") from err
            if event is None:
                raise SpeechUnavailable("the speech server left before it had answered")
            if event.type == "error":
                told = printable_line(event.text("text"), _MAX_NAME_CHARS)
                raise SpeechUnavailable(f"the speech server says: {told or 'error'}")
            yield event
        raise SpeechUnavailable("the speech server sent too many events")


class WyomingService:
    """Address of a server."""

    def __init__(self, server: str) -> None:
        self.address = server.removeprefix("tcp://")
        place = urlsplit(server)
        self._host, self._port = place.hostname or "", place.port or 0

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[WyomingConnection]:
        """Yield a connection.

        Raises:
            SpeechUnavailable: the server is not there.
        """
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(
                    self._host, self._port, limit=MAX_LINE_BYTES
                )
        # A timeout is one of these
        except OSError as err:
            why = err.strerror or "no answer"
            raise SpeechUnavailable(f"{self.address} could not be reached: {why}") from err
        try:
            yield WyomingConnection(reader, writer)
        finally:
            writer.transport.abort()

    async def describe(self, ability: str) -> str:
        """Return the name of the program there that has an ability: a key of `_LACKING`.

        Raises:
            SpeechUnavailable: there is none.
        """
        found = (await self.programs(ability))[0]
        return f"{printable_line(str(found.get('name', '')), _MAX_NAME_CHARS)} at {self.address}"

    async def programs(self, ability: str) -> list[dict[str, Any]]:
        """Return the descriptions of the programs there that have an ability, at least one.

        Raises:
            SpeechUnavailable: there is none.
        """
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S), self.talk() as server:
                await server.tell("describe", {})
                async for event in server.events():
                    if event.type == "info":
                        return self._able(event, ability)
        except TimeoutError as err:
            raise SpeechUnavailable(f"{self.address} does not say what it is") from err
        raise AssertionError  # the events end with an error alone

    def _able(self, event: WyomingEvent, ability: str) -> list[dict[str, Any]]:
        told = event.data.get(ability)
        found = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
        if not found:
            raise SpeechUnavailable(f"{self.address} answers, but {_LACKING[ability]} there")
        return found


class WyomingRecogniser:
    """Client of a server that writes down."""

    def __init__(self, settings: SpeechSettings, programs: SoundPrograms) -> None:
        self._service = WyomingService(settings.server)
        self._language = settings.language
        self._programs = programs

    async def words(self, speech: Attachment) -> tuple[str, str]:
        return await words_or_reason(self._ask(speech))

    async def probe(self) -> str:
        return f"{await self._service.describe('asr')} writes voice messages down"

    async def _ask(self, speech: Attachment) -> str:
        pcm = await self._programs.samples_of(speech)
        async with self._service.talk() as server:
            await server.tell("transcribe", _given(language=self._language))
            await _send(server, pcm)
            async for event in server.events():
                if event.type == "transcript":
                    return event.text("text")
        raise AssertionError  # as above


class WyomingSpeaker:
    """Client of a server that speaks."""

    def __init__(self, settings: SpeakerSettings) -> None:
        self._service = WyomingService(settings.server)
        self._voice = settings.voice

    async def say(self, text: str) -> Sound:
        return await spoken_in_time(self._ask(text))

    async def probe(self) -> str:
        return f"speaks by {await self._service.describe('tts')}"

    async def _ask(self, text: str) -> Sound:
        async with self._service.talk() as server:
            voice = {"voice": {"name": self._voice}} if self._voice else {}
            await server.tell("synthesize", {"text": text, **voice})
            shape, samples = (0, 0, 0), bytearray()
            async for event in server.events():
                match event.type:
                    case "audio-start":
                        shape = (
                            event.number("rate"),
                            event.number("width"),
                            event.number("channels"),
                        )
                    case "audio-chunk":
                        samples += event.payload
                        if len(samples) > MAX_SOUND_BYTES:
                            raise SpeechUnavailable("the speech server sent too much sound")
                    case "audio-stop":
                        break
        # Converted in a thread: two channels take time
        pcm = await asyncio.to_thread(pcm_of, bytes(samples), *shape)
        return Sound(wav_of(pcm) if pcm.samples else b"", WAV)


async def _send(server: WyomingConnection, pcm: Pcm) -> None:
    shape = {"rate": pcm.rate_hz, "width": SAMPLE_BYTES, "channels": 1}
    await server.tell("audio-start", shape)
    for at in range(0, len(pcm.samples), _CHUNK_BYTES):
        await server.tell("audio-chunk", shape, pcm.samples[at : at + _CHUNK_BYTES])
    await server.tell("audio-stop", {})


def _given(**data: str) -> dict[str, str]:
    """Return what is not empty."""
    return {name: value for name, value in data.items() if value}
