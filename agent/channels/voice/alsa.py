"""Microphone and loudspeaker of this machine, by ALSA's own programs `arecord` and `aplay`.

Raw samples go over pipes; no library of ours opens a device. Both programs end with their pipe,
also where the agent is killed.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent.channels.speech.pcm import RATE_HZ, SAMPLE_BYTES, Pcm
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.security.environment import SANDBOX_HOME, child_environment
from agent.text.printable import printable_line

FOLDER = Path("/usr/bin")
# Ten times a second the agent wakes for it
BLOCK_S = 0.1
_BLOCK_BYTES = int(RATE_HZ * BLOCK_S) * SAMPLE_BYTES
# A microphone gives samples all the time, also in silence: one that gives none hangs
SILENT_LIMIT_S = 20.0
# Beyond the sound itself: a device that is woken, and what lies in its buffer
_PLAY_EXTRA_S = 10.0
# Whoever was told to end has nothing to write any more
_END_TIMEOUT_S = 2.0
# The last line says it; a program may write one for each sample that it lost
_TAIL_BYTES = 400
_COMPLAINT_CHARS = 160
# ALSA's own way to another configuration
_PASSED = "ALSA_CONFIG_PATH"
_SHAPE = ("-q", "-t", "raw", "-f", "S16_LE", "-c", "1")
_REMEDY = {
    "arecord": "is the microphone plugged in? `arecord -L` lists the names for "
    "channels.voice.microphone",
    "aplay": "is the loudspeaker plugged in? `aplay -L` lists the names for "
    "channels.voice.loudspeaker",
}
_FORBIDDEN = "; the service needs the drop-in of agent/channels/voice/README.md"
BUSY = "Device or resource busy"


class AlsaDevice:
    """One device, by the program that reads or writes it.

    Args:
        device: its name in ALSA, such as "default" or "plughw:1".
        folder: where the program is.
    """

    program = ""

    def __init__(self, device: str, environ: Mapping[str, str], folder: Path = FOLDER) -> None:
        self.device = device
        self._folder = folder
        kept = {name: environ[name] for name in (_PASSED,) if name in environ}
        self._environment = {**child_environment(SANDBOX_HOME), **kept}

    def demand(self) -> None:
        """Raise ChannelRefused, with the remedy, if the program is not installed."""
        if not (self._folder / self.program).exists():
            raise ChannelRefused(
                f"{self.program} is not installed: run `sudo apt install alsa-utils`"
            )

    @asynccontextmanager
    async def _running(self, *options: str) -> AsyncIterator["_Program"]:
        """Yield the program at work; it is gone after the block."""
        self.demand()
        argv = (str(self._folder / self.program), *_SHAPE, "-D", self.device, *options)
        program = await _Program.started(argv, self._environment)
        try:
            yield program
        finally:
            await program.end()

    def _trouble(self, program: "_Program", why: str) -> ChannelUnavailable:
        told = printable_line(program.last_line or why, _COMPLAINT_CHARS)
        remedy = f"{_REMEDY[self.program]}{_FORBIDDEN * (not _may_use_sound())}"
        return ChannelUnavailable(f"{self.device!r} cannot be used: {told}: {remedy}")


class Microphone(AlsaDevice):
    """Microphone, read as one channel at the rate of recognisers."""

    program = "arecord"

    async def blocks(self, silent_limit_s: float = SILENT_LIMIT_S) -> AsyncGenerator[bytes, None]:
        """Yield what it hears, a tenth of a second at a time, until it fails.

        Raises:
            ChannelUnavailable: it is not there, not any more, or hangs.
        """
        async with self._running("-r", str(RATE_HZ)) as arecord:
            while True:
                try:
                    async with asyncio.timeout(silent_limit_s):
                        yield await arecord.out.readexactly(_BLOCK_BYTES)
                except TimeoutError as err:
                    raise self._trouble(arecord, "it gives no sound") from err
                except asyncio.IncompleteReadError as err:
                    await arecord.end()
                    raise self._trouble(arecord, "its program ended") from err


class Loudspeaker(AlsaDevice):
    """Loudspeaker."""

    program = "aplay"

    async def play(self, pcm: Pcm) -> None:
        """Play a sound; return when the last of it was heard.

        Raises:
            ChannelUnavailable: it was not played to its end.
        """
        async with self._running("-r", str(pcm.rate_hz)) as aplay:
            try:
                async with asyncio.timeout(pcm.duration_s + _PLAY_EXTRA_S):
                    # A device that goes away ends the program, which says why
                    with contextlib.suppress(OSError):
                        aplay.given.write(pcm.samples)
                        await aplay.given.drain()
                        aplay.given.close()
                    status = await aplay.wait()
            except TimeoutError as err:
                raise self._trouble(aplay, "it took no sound in time") from err
            if status != 0:
                raise self._trouble(aplay, f"{self.program} ended with status {status}")


class _Program:
    """Program at work; of what it complains the end is kept."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tail = b""
        self._complaints = asyncio.ensure_future(self._listen())

    @classmethod
    async def started(cls, argv: Sequence[str], environment: Mapping[str, str]) -> "_Program":
        """Raises ChannelUnavailable: the machine has no room for it."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment)
            )
        except OSError as err:
            raise ChannelUnavailable(f"{argv[0]} cannot be started: {err.strerror}") from err
        return cls(process)

    @property
    def out(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def given(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def last_line(self) -> str:
        """Return the last line that it complained in; empty for none."""
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    async def wait(self) -> int:
        """Return its status when it has ended, and has said why."""
        status = await self._process.wait()
        await self._complaints
        return status

    async def end(self) -> None:
        """Kill it if it runs; it holds nothing that could be lost."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self.given.close()
        await self._process.wait()
        await asyncio.wait({self._complaints}, timeout=_END_TIMEOUT_S)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(_TAIL_BYTES):
            self._tail = (self._tail + piece)[-_TAIL_BYTES:]


def _may_use_sound() -> bool:
    """Return false if this machine has sound devices that this user may not open."""
    folder = Path("/dev/snd")
    devices = [*folder.glob("pcm*")] if folder.is_dir() else []
    return all(os.access(one, os.R_OK | os.W_OK) for one in devices)
