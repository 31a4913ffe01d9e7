"""Speaker that is a program of this machine, espeak-ng: no network, many languages."""

from agent.channels.speech.base import WAV, Sound, spoken_in_time
from agent.channels.speech.programs import SoundPrograms
from agent.channels.speech_settings import SpeakerSettings

PROGRAM = "espeak-ng"
# Words in a minute; its own 175 are hard to follow
_WORDS_PER_MIN = "150"
_USUAL_VOICE = "en"
# The library for loudspeakers that it is linked with reserves so much, and uses none of it
_FILE_BYTES = 64 * 1024 * 1024


class EspeakSpeaker:
    """Speaker with one voice."""

    def __init__(self, settings: SpeakerSettings, programs: SoundPrograms) -> None:
        self._voice = settings.voice or _USUAL_VOICE
        self._programs = programs

    async def say(self, text: str) -> Sound:
        return await spoken_in_time(self._spoken(text))

    async def probe(self) -> str:
        await self._spoken("1")
        return f"speaks by {PROGRAM} with the voice {self._voice}"

    async def _spoken(self, text: str) -> Sound:
        # The text comes by the standard input: no option of the program can be in it
        argv = (PROGRAM, "--stdin", "--stdout", "-b", "1", "-s", _WORDS_PER_MIN, "-v", self._voice)
        given = text.replace("\0", " ").encode("utf-8", "replace")
        spoken = await self._programs.output_of(argv, given, file_bytes=_FILE_BYTES)
        return Sound(spoken, WAV)
