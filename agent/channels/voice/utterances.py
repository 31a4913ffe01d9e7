"""Utterances cut out of a microphone's stream: by how much louder they are than the room.

No I/O and no clock: time is counted in samples, so that a late reader cuts as an early one does.
"""

import math
from array import array
from collections import deque
from collections.abc import Iterator

from agent.channels.speech.pcm import RATE_HZ, SAMPLE_BYTES, Pcm

# Short beside a syllable
FRAME_S = 0.02
FRAME_BYTES = int(RATE_HZ * FRAME_S) * SAMPLE_BYTES
# Somebody looks for a word for less than this
PAUSE_S = 0.7
# No order takes longer; a radio does
MAX_UTTERANCE_S = 15.0
# A door, a cup: less sound than the shortest word has
LEAST_SOUND_S = 0.2
# The first sound of a word is soft
_BEFORE_S = 0.3
# Of so many frames this many are loud where somebody begins to speak
_WINDOW, _LOUD_OF_WINDOW = 10, 5
# 8 dB above the room
_RATIO = 2.5
# Root mean square of 16 bits: below it is the noise of a microphone alone
_LEAST_LEVEL = 120.0
_LOUDEST_ROOM = 4000.0
# The room's level follows down at once, and up by 28 % a second
_DOWN, _UP = 0.3, 1.005
# Every fourth sample tells how loud it is as well as all of them do
_STRIDE = 4


def level_of(frame: bytes) -> float:
    """Return the root mean square of samples, without the offset that cheap microphones have."""
    samples = array("h", frame)[::_STRIDE]
    if not samples:
        return 0.0
    mean = sum(samples) / len(samples)
    power = sum(one * one for one in samples) / len(samples) - mean * mean
    return math.sqrt(max(power, 0.0))


class UtteranceCutter:
    """Takes a stream in pieces of any size and yields the utterances in it."""

    def __init__(self) -> None:
        self._rest = b""
        self._room = _LEAST_LEVEL
        # What the last frames were: the beginning of an utterance
        self._before: deque[bytes] = deque(maxlen=round(_BEFORE_S / FRAME_S) + _WINDOW)
        self._window: deque[bool] = deque(maxlen=_WINDOW)
        self._said: list[bytes] = []
        self._loud = 0
        self._quiet = 0
        # How many utterances were longer than any order
        self.too_long = 0

    def reset(self) -> None:
        """Forget what has been heard of an utterance; the level of the room stays."""
        self._rest = b""
        self._before.clear()
        self._begin_anew()

    def feed(self, piece: bytes) -> Iterator[Pcm]:
        """Yield each utterance that ends in this piece of the stream."""
        held = self._rest + piece
        end = len(held) // FRAME_BYTES * FRAME_BYTES
        self._rest = held[end:]
        for at in range(0, end, FRAME_BYTES):
            frame = held[at : at + FRAME_BYTES]
            is_loud = self._is_loud(frame)
            if self._said:
                yield from self._go_on(frame, is_loud=is_loud)
            else:
                self._wait(frame, is_loud=is_loud)

    def _is_loud(self, frame: bytes) -> bool:
        level = level_of(frame)
        if level < self._room:
            self._room += _DOWN * (level - self._room)
        else:
            self._room = min(self._room * _UP, _LOUDEST_ROOM)
        self._room = max(self._room, _LEAST_LEVEL / _RATIO)
        return level > self._room * _RATIO

    def _wait(self, frame: bytes, *, is_loud: bool) -> None:
        self._before.append(frame)
        self._window.append(is_loud)
        if sum(self._window) >= _LOUD_OF_WINDOW:
            self._said = [*self._before]
            self._loud, self._quiet = sum(self._window), 0

    def _go_on(self, frame: bytes, *, is_loud: bool) -> Iterator[Pcm]:
        self._said.append(frame)
        self._loud += is_loud
        self._quiet = 0 if is_loud else self._quiet + 1
        if len(self._said) * FRAME_S > MAX_UTTERANCE_S:
            self.too_long += 1
            self._begin_anew()
        elif self._quiet * FRAME_S >= PAUSE_S:
            if self._loud * FRAME_S >= LEAST_SOUND_S:
                yield Pcm(b"".join(self._said), RATE_HZ)
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._said = []
        self._window.clear()
        self._before.clear()
        self._loud = self._quiet = 0
