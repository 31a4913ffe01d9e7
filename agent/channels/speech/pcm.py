"""Plain samples: 16 bits, one channel, in little-endian order; and WAV files of them."""

import io
import wave
from array import array

from msgspec import Struct

from agent.errors import SpeechUnavailable

# As recognisers want it
RATE_HZ = 16_000
SAMPLE_BYTES = 2
# A voice message that is longer goes to a service that takes the file
MAX_SPEECH_S = 120
_LOWEST_HZ, _HIGHEST_HZ = 8_000, 48_000
_STEREO = 2


class Pcm(Struct, frozen=True):
    """Samples at one rate."""

    samples: bytes
    rate_hz: int

    @property
    def duration_s(self) -> float:
        return len(self.samples) / SAMPLE_BYTES / self.rate_hz


def pcm_of(samples: bytes, rate_hz: int, width: int, channels: int) -> Pcm:
    """Return samples as one channel.

    Raises:
        SpeechUnavailable: it is no sound of a kind that is known here.
    """
    if width != SAMPLE_BYTES or channels not in {1, _STEREO}:
        raise SpeechUnavailable("the sound must have 16 bits and one or two channels")
    if not _LOWEST_HZ <= rate_hz <= _HIGHEST_HZ:
        raise SpeechUnavailable(f"the sound must have {_LOWEST_HZ} to {_HIGHEST_HZ} samples in 1 s")
    whole = samples[: len(samples) // (width * channels) * width * channels]
    if channels == _STEREO:
        both = array("h", whole)
        mixed = (int(left + right) // 2 for left, right in zip(both[::2], both[1::2], strict=True))
        whole = array("h", mixed).tobytes()
    return Pcm(whole, rate_hz)


def wav_of(pcm: Pcm) -> bytes:
    """Return a WAV file."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(SAMPLE_BYTES)
        file.setframerate(pcm.rate_hz)
        file.writeframes(pcm.samples)
    return held.getvalue()


def read_wav(content: bytes) -> Pcm:
    """Return the samples of a WAV file; a length that a program did not know yet does not matter.

    Raises:
        SpeechUnavailable: it is none.
    """
    try:
        with wave.open(io.BytesIO(content), "rb") as file:
            shape = file.getframerate(), file.getsampwidth(), file.getnchannels()
            # A program that writes to a pipe says that the sound never ends
            samples = file.readframes(len(content))
    except (wave.Error, EOFError, ValueError) as err:
        raise SpeechUnavailable("this is no WAV file of plain samples") from err
    return pcm_of(samples, *shape)
