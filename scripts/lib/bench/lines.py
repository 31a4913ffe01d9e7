"""Lines for a relay, each with its fault in its name. A fault strikes whole frames.

Random ones repeat themselves: every line has its own seed.
"""

import random
from collections.abc import Callable, Iterator

from scripts.lib.bench.relay import Piece

# Start bit, eight bits, stop bit
_BITS_PER_BYTE = 10
BYTES_PER_S_AT_115200 = 115_200 / _BITS_PER_BYTE
# A USB adapter hands over what has gathered in about this many bytes
_PACED_PIECE_BYTES = 16
_FATES = ("lost", "damaged", "overtaken", "doubled", *["well"] * 6)


class PerfectLine:
    """Everything arrives at once; the base of those that work on frames."""

    def __init__(self, seed: int = 7) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - faults repeat themselves
        self._begun = bytearray()

    def carry(self, data: bytes, now_s: float) -> Iterator[Piece]:
        for frame in self._frames(data):
            yield from self.treat(frame, now_s)

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        """Return the arrivals of a frame: whole, in parts, repeatedly or none."""
        yield now_s, frame

    def _frames(self, data: bytes) -> Iterator[bytes]:
        for byte in data:
            self._begun.append(byte)
            if byte == 0 and len(self._begun) > 1:
                yield bytes(self._begun)
                self._begun.clear()


class LossyLine(PerfectLine):
    """Every fifth frame never arrives."""

    share = 0.2

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        if self.chance.random() >= self.share:
            yield now_s, frame


class DuplicatingLine(PerfectLine):
    """Every third frame arrives twice, the second time up to 40 ms late."""

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        yield now_s, frame
        if self.chance.random() < 1 / 3:
            yield now_s + self.chance.uniform(0.002, 0.04), frame


class ReorderingLine(PerfectLine):
    """Every third frame is overtaken by those of the next 10 ms."""

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        late = self.chance.random() < 1 / 3
        yield now_s + (0.01 if late else 0.0), frame


class OneByteAtATimeLine(PerfectLine):
    """Nothing arrives in one piece: a byte every 100 µs."""

    _free_s = 0.0

    def carry(self, data: bytes, now_s: float) -> Iterator[Piece]:
        for at in range(len(data)):
            self._free_s = max(self._free_s, now_s) + 0.0001
            yield self._free_s, data[at : at + 1]


class DelayingLine(PerfectLine):
    """Everything takes between 5 and 60 ms and stays in order."""

    _last_s = 0.0

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        self._last_s = max(self._last_s, now_s + self.chance.uniform(0.005, 0.06))
        yield self._last_s, frame


class WorstLine(PerfectLine):
    """A tenth is lost, doubled, overtaken or damaged each, and all arrives in halves."""

    def treat(self, frame: bytes, now_s: float) -> Iterator[Piece]:
        fate = self.chance.choice(_FATES)
        if fate == "lost":
            return
        spoiled = bytearray(frame)
        if fate == "damaged":
            spoiled[self.chance.randrange(len(frame))] ^= 1 << self.chance.randrange(8)
        late_s = 0.01 if fate == "overtaken" else 0.0
        middle = self.chance.randrange(len(frame))
        yield now_s + late_s, bytes(spoiled[:middle])
        yield now_s + late_s, bytes(spoiled[middle:])
        if fate == "doubled":
            yield now_s + self.chance.uniform(0.002, 0.04), frame


class PacedLine:
    """A UART: so many bytes in a second and no more, in small pieces."""

    def __init__(self, bytes_per_s: float = BYTES_PER_S_AT_115200) -> None:
        self._byte_s = 1 / bytes_per_s
        self._free_s = 0.0

    def carry(self, data: bytes, now_s: float) -> Iterator[Piece]:
        for at in range(0, len(data), _PACED_PIECE_BYTES):
            piece = data[at : at + _PACED_PIECE_BYTES]
            self._free_s = max(self._free_s, now_s) + len(piece) * self._byte_s
            yield self._free_s, piece


class RatedLine:
    """A UART whose ends each have a rate: an end with another one than the sender reads rubbish.

    Args:
        best_baud: rubbish is also what arrives at more than that: a poor cable.
    """

    def __init__(
        self, sender: Callable[[], int], receiver: Callable[[], int], best_baud: int
    ) -> None:
        self._sender, self._receiver = sender, receiver
        self._best_baud = best_baud
        self._chance = random.Random(7)  # noqa: S311 - rubbish that repeats itself
        self._free_s = 0.0

    def carry(self, data: bytes, now_s: float) -> Iterator[Piece]:
        baud = self._sender()
        is_read = baud == self._receiver() and baud <= self._best_baud
        for at in range(0, len(data), _PACED_PIECE_BYTES):
            piece = data[at : at + _PACED_PIECE_BYTES]
            self._free_s = max(self._free_s, now_s) + len(piece) * _BITS_PER_BYTE / baud
            yield self._free_s, piece if is_read else self._chance.randbytes(len(piece))
