"""The recogniser of this machine, beyond the contract: what is no sentence of the device."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.channels.speech.base import OGG
from agent.channels.speech.espeak import EspeakSpeaker
from agent.channels.speech.pocketsphinx import NOT_A_SENTENCE, PocketsphinxRecogniser
from agent.channels.speech_settings import SpeakerSettings
from tests.fakes.sandbox import EchoingSandbox
from tests.fakes.sounds import kept, no_sounds, programs_by, programs_in, silence

NOT_HERE = no_sounds("espeak-ng", "opusenc") or (
    "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"
)
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)


async def heard(tmp_path: Path, sentence: str, *names: str) -> tuple[str, str]:
    programs = programs_in(tmp_path)
    sound = await EspeakSpeaker(SpeakerSettings(voice="en-us"), programs).say(sentence)
    voice = await programs.as_voice(sound, OGG)
    speech = kept(tmp_path / "said.ogg", voice.content, OGG)
    return await PocketsphinxRecogniser(lambda: names, programs).words(speech)


async def test_a_name_of_several_words_is_heard(tmp_path: Path) -> None:
    said = "turn off the living room light"
    assert await heard(tmp_path, said, "living_room_light", "led") == (said, "")


async def test_half_a_sentence_is_none(tmp_path: Path) -> None:
    """The search gives the beginning of a sentence; a switch without a thing moves nothing."""
    assert await heard(tmp_path, "switch the", "pump") == ("", NOT_A_SENTENCE)


async def test_silence_is_no_sentence(tmp_path: Path) -> None:
    recogniser = PocketsphinxRecogniser(lambda: ("led",), programs_in(tmp_path))
    words, trouble = await recogniser.words(silence(tmp_path / "s.wav", 1.0))
    assert (words, trouble) == ("", NOT_A_SENTENCE)


async def test_without_things_the_plain_sentences_are_heard(tmp_path: Path) -> None:
    assert await heard(tmp_path, "what time is it") == ("what time is it", "")


async def test_names_that_no_dictionary_knows_are_told(tmp_path: Path) -> None:
    recogniser = PocketsphinxRecogniser(lambda: ("led", "xqzt"), programs_in(tmp_path))
    assert (await recogniser.probe()).endswith("it cannot hear the names xqzt")


async def test_a_program_that_breaks_is_a_reason(tmp_path: Path) -> None:
    class Broken(EchoingSandbox):
        async def run(self, job: object) -> object:  # type: ignore[override]
            done = await super().run(job)  # type: ignore[arg-type]
            return type(done)(1, b"", b"Traceback\nMemoryError: too little\n")

    recogniser = PocketsphinxRecogniser(lambda: (), programs_by(Broken(tmp_path)))
    with pytest.raises(Exception, match="pocketsphinx failed: MemoryError: too little"):
        await recogniser.probe()
