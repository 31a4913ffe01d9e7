"""Recogniser of this machine, pocketsphinx: no network, English, only the device's own sentences.

Each recording has a process of its own, which ends with it: nothing stays loaded.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

import msgspec

from agent.channels.speech.base import words_or_reason
from agent.channels.speech.grammar import grammar_of
from agent.channels.speech.pcm import RATE_HZ
from agent.channels.speech.programs import SoundPrograms
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from agent.security.reader import ReaderRun, read_apart
from agent.text.config_hints import install_hint
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

PROGRAM = Path(__file__).with_name("pocketsphinx_program.py")
# Two minutes of speech, on a Pi Zero
LISTEN_TIMEOUT_S = 40.0
NOT_A_SENTENCE = "it is none of the sentences that I know by ear: please write it"
_COMPLAINT_CHARS = 160


class _Heard(msgspec.Struct, frozen=True):
    """Output of the program."""

    text: str
    unknown: tuple[str, ...] = ()


class PocketsphinxRecogniser:
    """Recogniser of the sentences about named things.

    Args:
        names: of the things, as they are by now.
        wake: what a sentence may begin with; empty for nothing.
    """

    def __init__(
        self, names: Callable[[], Iterable[str]], programs: SoundPrograms, wake: str = ""
    ) -> None:
        self._names = names
        self._programs = programs
        self._wake = wake

    async def words(self, speech: Attachment) -> tuple[str, str]:
        return await words_or_reason(self._listen(speech))

    async def probe(self) -> str:
        unknown = (await self._run(b"")).unknown
        cannot = f"; it cannot hear the names {', '.join(unknown)}" if unknown else ""
        return f"pocketsphinx hears the device's own sentences, in English{cannot}"

    async def _listen(self, speech: Attachment) -> str:
        pcm = await self._programs.samples_of(speech)
        if pcm.rate_hz != RATE_HZ:
            raise SpeechUnavailable(f"the sound has {pcm.rate_hz} samples in 1 s, not {RATE_HZ}")
        heard = await self._run(pcm.samples)
        if heard.unknown:
            _log.info("speech: names not in the dictionary (names=%s)", ", ".join(heard.unknown))
        if not heard.text:
            raise SpeechUnavailable(NOT_A_SENTENCE)
        return heard.text

    async def _run(self, samples: bytes) -> _Heard:
        if await asyncio.to_thread(find_spec, "pocketsphinx") is None:
            raise SpeechUnavailable(f"pocketsphinx not installed: {install_hint('speech')}")
        asked = msgspec.json.encode(grammar_of(self._names(), self._wake))
        reading = ReaderRun(
            str(PROGRAM),
            (),
            asked + b"\n" + samples,
            LISTEN_TIMEOUT_S,
            LISTEN_TIMEOUT_S,
            with_packages=True,
        )
        done = await read_apart(reading, await self._programs.sandbox())
        if done.exit != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            told = done.ended or printable_line(lines[-1] if lines else "", _COMPLAINT_CHARS)
            raise SpeechUnavailable(f"pocketsphinx failed: {told or f'status {done.exit}'}")
        return msgspec.json.decode(done.stdout, type=_Heard)
