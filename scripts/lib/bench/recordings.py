"""Recordings for the benchmark of speech: sentences as espeak-ng says them, clean and in noise."""

import os
import random
import subprocess
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.channels.speech.grammar import THING, DeviceGrammar
from agent.channels.speech.pcm import RATE_HZ, Pcm, read_wav

NOISE_DB = 10.0
# A library of espeak-ng looks for a sound server, and leaves a folder where it finds none
WITHOUT_SOUND_SERVER = {**os.environ, "PULSE_SERVER": "unix:/dev/null"}


@dataclass(frozen=True, slots=True)
class Recording:
    """A sentence as a voice says it; `noise_db` is how far the noise is below it, None for none."""

    sentence: str
    pcm: Pcm
    noise_db: float | None


def sentences(grammar: DeviceGrammar) -> Iterator[str]:
    """Yield every sentence of the device, as somebody says it."""
    for order in grammar.orders:
        yield from (order.replace(THING, f"the {name}") for name in grammar.names)
    yield from grammar.plain


def recorded(said: Iterable[str], voices: Sequence[str]) -> Iterator[Recording]:
    """Yield each sentence by each voice, clean and in noise."""
    chance = random.Random(20)  # noqa: S311 - the same noise in every run
    for sentence in said:
        for voice in voices:
            clean = spoken(sentence, voice)
            yield Recording(sentence, clean, None)
            yield Recording(sentence, noisy(clean, NOISE_DB, chance), NOISE_DB)


def spoken(sentence: str, voice: str) -> Pcm:
    """Return a sentence at the rate of recognisers, as it comes out of a voice message."""
    decoding = ("opusdec", "--quiet", "--rate", str(RATE_HZ), "--force-wav", "-", "-")
    return read_wav(_run(decoding, voice_message(sentence, voice)))


def voice_message(sentence: str, voice: str) -> bytes:
    """Return a sentence as Ogg with Opus."""
    argv = ("espeak-ng", "--stdin", "--stdout", "-b", "1", "-s", "150", "-v", voice)
    wav = _run(argv, sentence.encode())
    return _run(("opusenc", "--quiet", "--bitrate", "24", "--downmix-mono", "-", "-"), wav)


def noisy(pcm: Pcm, below_db: float, chance: random.Random) -> Pcm:
    """Return a recording with white noise so far below the speech."""
    samples = array("h", pcm.samples)
    power = sum(one * one for one in samples) / max(len(samples), 1)
    spread = (power / 10 ** (below_db / 10)) ** 0.5
    mixed = (max(-32768, min(32767, round(one + chance.gauss(0, spread)))) for one in samples)
    return Pcm(array("h", mixed).tobytes(), pcm.rate_hz)


def _run(argv: Sequence[str], given: bytes) -> bytes:
    environ = WITHOUT_SOUND_SERVER
    return subprocess.run(argv, input=given, capture_output=True, check=True, env=environ).stdout
