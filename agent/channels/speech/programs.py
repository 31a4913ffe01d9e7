"""Programs of the system that make and convert sound, each in the sandbox for a moment.

A sound from outside is read by them alone. Where no sandbox works none of them is run.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from agent.channels.speech.base import AAC, MAX_SOUND_BYTES, OGG, WAV, Sound
from agent.channels.speech.pcm import MAX_SPEECH_S, RATE_HZ, SAMPLE_BYTES, Pcm, read_wav
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from agent.security.environment import SANDBOX_HOME, child_environment
from agent.security.sandbox.base import Sandbox, SandboxJob
from agent.security.sandbox.choice import SandboxChoice
from agent.text.printable import printable_line

# A minute of speech takes a Pi Zero some seconds, and more beside a turn
PROGRAM_TIMEOUT_S = 40.0
_BIT_RATE_KBIT = "24"
# Libraries of codecs are large, and what they hold of their own is small
_MEMORY_BYTES = 128 * 1024 * 1024
_COMPLAINT_CHARS = 160
_NOT_INSTALLED = "{} is not installed: run `sudo apt install {}`"
_PACKAGES = {"opusenc": "opus-tools", "opusdec": "opus-tools"}
_FOLDER = Path("/usr/bin")
_OGG_MARK, _WAV_MARK = b"OggS", b"RIFF"
# Samples, and a heading that says how they are
_HEADING_BYTES = 4096
_MAX_PCM_BYTES = MAX_SPEECH_S * RATE_HZ * SAMPLE_BYTES * 2 + _HEADING_BYTES


class SoundPrograms:
    """Runs the programs.

    Args:
        choose: looks for the sandbox; called once, in a thread.
        folder: where the programs are.
    """

    def __init__(self, choose: Callable[[], SandboxChoice], folder: Path = _FOLDER) -> None:
        self._choose = choose
        self._chosen: SandboxChoice | None = None
        self._folder = folder

    async def sandbox(self) -> Sandbox:
        """Return the sandbox.

        Raises:
            SpeechUnavailable: there is none.
        """
        if self._chosen is None:
            self._chosen = await asyncio.to_thread(self._choose)
        if self._chosen.sandbox is None:
            raise SpeechUnavailable(self._chosen.trouble)
        return self._chosen.sandbox

    def has(self, program: str) -> bool:
        """Return true if a program is installed."""
        return (self._folder / program).exists()

    def demand(self, program: str) -> None:
        """Raise SpeechUnavailable, with the remedy, if a program is not installed."""
        if not self.has(program):
            package = _PACKAGES.get(program, program)
            raise SpeechUnavailable(_NOT_INSTALLED.format(program, package))

    async def output_of(
        self,
        argv: Sequence[str],
        given: bytes | BinaryIO,
        most_bytes: int = MAX_SOUND_BYTES,
        file_bytes: int = 0,
    ) -> bytes:
        """Return what a program writes.

        Args:
            file_bytes: the largest file that it may make for itself; nobody sees it.

        Raises:
            SpeechUnavailable: it failed, or wrote too much.
        """
        self.demand(argv[0])
        job = SandboxJob(
            argv,
            child_environment(SANDBOX_HOME),
            given=given,
            timeout_s=PROGRAM_TIMEOUT_S,
            cpu_s=PROGRAM_TIMEOUT_S,
            memory_bytes=_MEMORY_BYTES,
            stream_bytes=most_bytes,
            file_bytes=file_bytes,
        )
        done = await (await self.sandbox()).run(job)
        if done.truncated:
            raise SpeechUnavailable("the sound is too long")
        if done.exit != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            told = printable_line(lines[-1], _COMPLAINT_CHARS) if lines else done.ended
            raise SpeechUnavailable(f"{argv[0]} failed: {told or f'status {done.exit}'}")
        return done.stdout

    async def samples_of(self, speech: Attachment) -> Pcm:
        """Return the samples of a recording, as recognisers want them.

        Raises:
            SpeechUnavailable: it cannot be read here, or is too long.
            OSError: the file is not there.
        """
        # Without a buffer: the program goes on where this ends
        with await asyncio.to_thread(Path(speech.path).open, "rb", 0) as file:
            mark = file.read(len(_OGG_MARK))
            file.seek(0)
            pcm = await asyncio.to_thread(_as_it_is, file) if mark == _WAV_MARK else None
            if pcm is None:
                file.seek(0)
                pcm = read_wav(await self.output_of(self._reading(mark), file, _MAX_PCM_BYTES))
        if pcm.duration_s > MAX_SPEECH_S:
            raise SpeechUnavailable(f"it is longer than {MAX_SPEECH_S} s")
        return pcm

    def _reading(self, mark: bytes) -> Sequence[str]:
        """Return the program that reads a file which begins so."""
        if mark == _OGG_MARK and (self.has("opusdec") or not self.has("ffmpeg")):
            return ("opusdec", "--quiet", "--rate", str(RATE_HZ), "--force-wav", "-", "-")
        return _by_ffmpeg("-ac", "1", "-ar", str(RATE_HZ), "-f", "wav")

    async def as_voice(self, sound: Sound, media_type: str) -> Sound:
        """Return a sound as a platform's voice message; Ogg with Opus where it cannot be AAC.

        Raises:
            SpeechUnavailable: it cannot be converted.
        """
        if media_type == AAC and self.has("ffmpeg"):
            coding = _by_ffmpeg("-c:a", "aac", "-b:a", "48k", "-ac", "1", "-f", "adts")
            return Sound(await self.output_of(coding, sound.content), AAC)
        if sound.media_type == OGG:
            return sound
        if sound.media_type != WAV:
            raise SpeechUnavailable(f"a sound of the type {sound.media_type} cannot be converted")
        coding = ("opusenc", "--quiet", "--bitrate", _BIT_RATE_KBIT, "--downmix-mono", "-", "-")
        return Sound(await self.output_of(coding, sound.content), OGG)


def _by_ffmpeg(*coding: str) -> tuple[str, ...]:
    # Only what is at its standard input: a playlist in a file must not lead anywhere else
    read = ("-nostdin", "-v", "error", "-protocol_whitelist", "pipe", "-i", "pipe:0", "-vn")
    return ("ffmpeg", *read, *coding, "pipe:1")


def _as_it_is(file: BinaryIO) -> Pcm | None:
    """Return plain samples at the rate of recognisers; None for what has to be converted."""
    try:
        pcm = read_wav(file.read(_MAX_PCM_BYTES + 1))
    except SpeechUnavailable:
        return None
    return pcm if pcm.rate_hz == RATE_HZ and pcm.samples else None
