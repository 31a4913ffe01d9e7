"""A room for ALSA's own programs: its `file` plugin reads a pipe, and keeps what is played.

The programs and the library are Debian's; only the sound card is not there.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from agent.channels.speech.pcm import RATE_HZ, SAMPLE_BYTES, Pcm

# A microphone in a quiet room: it gives samples all the time. As long as a period of `arecord`: the
# plugin fills up what it reads less of
_HUSH_S = 0.125
_HUSH = bytes(int(RATE_HZ * _HUSH_S) * SAMPLE_BYTES)
_AFTER_S = 1.5
_FULL_S = 0.02
_CONFIGURATION = """
pcm.nothing {{ type null }}
pcm.ears {{ type file slave.pcm "nothing" file "/dev/null" infile "{ears}" format "raw" }}
pcm.mouth {{ type file slave.pcm "nothing" file "{mouth}" format "raw" }}
pcm.mic {{ type plug slave {{ pcm "ears" format S16_LE rate 16000 channels 1 }} }}
pcm.speaker {{ type plug slave {{ pcm "mouth" format S16_LE rate 16000 channels 1 }} }}
pcm.!default {{ type asym playback.pcm "speaker" capture.pcm "mic" }}
"""


def no_alsa() -> str:
    """Why there can be no room; empty where there can."""
    return "" if which("arecord") else "not installed: apt-get install alsa-utils"


class Room:
    """A microphone that hears what the test plays, and a loudspeaker that is kept."""

    def __init__(self, folder: Path) -> None:
        # As fast as sound is; otherwise as fast as it is taken
        self.is_paced = False
        self.configuration = folder / "asound.conf"
        self._ears = folder / "ears"
        self._mouth = folder / "mouth.raw"
        self._text = _CONFIGURATION.format(ears=self._ears, mouth=self._mouth)
        self._ended = threading.Event()
        self._writing = threading.Lock()
        os.mkfifo(self._ears)
        self.plug_in()
        self._pipe = os.open(self._ears, os.O_RDWR | os.O_NONBLOCK)

    @property
    def environ(self) -> dict[str, str]:
        return {"ALSA_CONFIG_PATH": str(self.configuration)}

    @property
    def spoken_at_ns(self) -> int:
        """When something was played last, by the clock of the files."""
        return self._mouth.stat().st_mtime_ns if self._mouth.exists() else 0

    @property
    def said(self) -> bytes:
        """What was played last, at 16 kHz: the plugin begins its file anew each time."""
        return self._mouth.read_bytes() if self._mouth.exists() else b""

    def plug_in(self) -> None:
        self.configuration.write_text(self._text)

    def pull_out(self) -> None:
        """The devices are not there for the next program that looks for them."""
        self.configuration.write_text("pcm.nothing { type null }\n")

    def play(self, pcm: Pcm) -> None:
        """Play into the microphone, with the silence that ends a sentence; blocks."""
        silence = bytes(int(RATE_HZ * _AFTER_S) * SAMPLE_BYTES)
        whole = silence[: len(silence) // 2] + pcm.samples + silence
        with self._writing:
            if not self.is_paced:
                self._write(whole)
                return
            for at in range(0, len(whole), len(_HUSH)):
                self._write(whole[at : at + len(_HUSH)])
                self._ended.wait(_HUSH_S)

    def hush(self) -> None:
        """Play silence for as long as the room is there, and now and then is enough."""
        while not self._ended.wait(0.5):
            with self._writing:
                self._write(_HUSH)

    def end(self) -> None:
        self._ended.set()

    def _write(self, samples: bytes) -> None:
        at = 0
        while at < len(samples) and not self._ended.is_set():
            try:
                at += os.write(self._pipe, samples[at : at + 4096])
            except BlockingIOError:
                # The pipe is full: nobody listens now
                self._ended.wait(_FULL_S)

    def close(self) -> None:
        os.close(self._pipe)


@contextlib.contextmanager
def room_in(folder: Path) -> Iterator[Room]:
    """A room with its silence."""
    folder.mkdir(exist_ok=True)
    room = Room(folder)
    hushing = threading.Thread(target=room.hush, daemon=True)
    hushing.start()
    try:
        yield room
    finally:
        room.end()
        hushing.join()
        room.close()
