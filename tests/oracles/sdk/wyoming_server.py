"""Server of the library `wyoming`, as faster-whisper's and Piper's are made: it counts and beeps.

It writes its port, and serves until its standard input ends. What it hears in a recording is told
by how long that lasts; a wake word is every sound that is no silence.
"""

import asyncio
import sys

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioChunkConverter, AudioStart, AudioStop
from wyoming.event import Event
from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    Describe,
    Info,
    TtsProgram,
    TtsVoice,
    WakeModel,
    WakeProgram,
)
from wyoming.server import AsyncEventHandler, AsyncServer
from wyoming.tts import Synthesize
from wyoming.wake import Detect, Detection, NotDetected

_BY = Attribution(name="a test", url="")
_ABOUT = {"attribution": _BY, "installed": True, "description": None, "version": "1"}
_INFO = Info(
    asr=[
        AsrProgram(
            name="counter", models=[AsrModel(name="m", languages=["en"], **_ABOUT)], **_ABOUT
        )
    ],
    tts=[
        TtsProgram(name="beeper", voices=[TtsVoice(name="v", languages=["en"], **_ABOUT)], **_ABOUT)
    ],
    wake=[
        WakeProgram(
            name="listener",
            models=[WakeModel(name="hey_jarvis_v0.1", languages=["en"], phrase=None, **_ABOUT)],
            **_ABOUT,
        )
    ],
)
_RATE_HZ = 22_050


class Handler(AsyncEventHandler):
    """Conversation with one client."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)
        self._sound = b""
        self._language = None
        # Words that are listened for; None where nothing is
        self._words = None
        # As faster-whisper's server wants it
        self._converter = AudioChunkConverter(rate=16_000, width=2, channels=1)

    async def handle_event(self, event: Event) -> bool:
        if Describe.is_type(event.type):
            await self.write_event(_INFO.event())
        elif Transcribe.is_type(event.type):
            self._language = Transcribe.from_event(event).language
        elif Detect.is_type(event.type):
            self._words = Detect.from_event(event).names
        elif AudioStart.is_type(event.type):
            AudioStart.from_event(event)
        elif AudioChunk.is_type(event.type):
            await self._hear(AudioChunk.from_event(event))
        elif AudioStop.is_type(event.type) and self._words is not None:
            await self.write_event(NotDetected().event())
        elif AudioStop.is_type(event.type):
            heard = "turn the led on" if len(self._sound) > 16_000 else "nothing"
            await self.write_event(Transcript(text=heard, language=self._language).event())
        elif Synthesize.is_type(event.type):
            await self._beep(Synthesize.from_event(event).text)
        return True

    async def _hear(self, chunk: AudioChunk) -> None:
        samples = self._converter.convert(chunk).audio
        if self._words is None:
            self._sound += samples
        elif any(samples):
            # What is no silence is the first of the words
            told = Detection(name=self._words[0], timestamp=chunk.timestamp)
            await self.write_event(told.event())

    async def _beep(self, text: str) -> None:
        shape = {"rate": _RATE_HZ, "width": 2, "channels": 1}
        await self.write_event(AudioStart(**shape).event())
        for _ in text:
            await self.write_event(AudioChunk(audio=b"\x10\x20" * 1024, **shape).event())
        await self.write_event(AudioStop().event())


async def main() -> None:
    server = AsyncServer.from_uri("tcp://127.0.0.1:0")
    await server.start(Handler)
    port = server._server.sockets[0].getsockname()[1]
    print(port, flush=True)  # noqa: T201 - what its starter waits for
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main())
