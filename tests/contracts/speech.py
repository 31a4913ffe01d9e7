"""Cases that every engine that hears and every engine that speaks passes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.channels.speech.base import OGG, WAV, Recogniser, Speaker
from agent.channels.speech.pcm import read_wav
from agent.errors import SpeechUnavailable
from agent.messages import Attachment

SENTENCE = "turn the led on"
# Words that a program could take for its options, and signs that a wire could stumble over
ODD_TEXTS = ("-v nobody --help", "Grüße, 你好 <b>now</b> & \x00 {}", "x" * 600)


@dataclass(frozen=True)
class RecogniserCase:
    """An engine that hears `SENTENCE` in `speech`, and the same engine gone.

    Args:
        reads: it looks into the file, so that it hears nothing in noise that is no sound.
    """

    engine: Recogniser
    gone: Recogniser
    speech: Attachment
    reads: bool = True


class RecogniserContract:
    """Promises of a recogniser."""

    async def test_what_was_said_is_written_down(self, hearing: RecogniserCase) -> None:
        assert await hearing.engine.words(hearing.speech) == (SENTENCE, "")

    async def test_a_file_that_is_gone_is_a_reason(
        self, hearing: RecogniserCase, tmp_path: Path
    ) -> None:
        words, trouble = await hearing.engine.words(Attachment(str(tmp_path / "no"), OGG))
        assert words == ""
        assert "cannot be read" in trouble

    async def test_what_is_no_sound_is_a_reason(
        self, hearing: RecogniserCase, tmp_path: Path
    ) -> None:
        if not hearing.reads:
            pytest.skip("the service behind this engine is a fake that hears the same in all")
        noise = tmp_path / "noise.ogg"
        noise.write_bytes(b"OggS" + bytes(range(256)) * 20)
        words, trouble = await hearing.engine.words(Attachment(str(noise), OGG, "", 5124))
        assert words == ""
        assert trouble

    async def test_an_engine_that_is_away_is_a_reason(self, hearing: RecogniserCase) -> None:
        words, trouble = await hearing.gone.words(hearing.speech)
        assert words == ""
        assert trouble

    async def test_it_says_how_it_is(self, hearing: RecogniserCase) -> None:
        assert await hearing.engine.probe()


@dataclass(frozen=True)
class SpeakerCase:
    """An engine that speaks, and the same engine gone."""

    engine: Speaker
    gone: Speaker
    lasts_s: Callable[[bytes], float] = field(default=lambda wav: read_wav(wav).duration_s)


class SpeakerContract:
    """Promises of a speaker."""

    async def test_a_text_becomes_sound(self, speaking: SpeakerCase) -> None:
        sound = await speaking.engine.say("The led is on now.")
        assert sound.media_type in {OGG, WAV}
        assert sound.media_type == OGG or speaking.lasts_s(sound.content) > 0.02

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=["options", "signs", "long"])
    async def test_odd_texts_are_spoken_as_well(self, speaking: SpeakerCase, text: str) -> None:
        assert (await speaking.engine.say(text)).content

    async def test_an_engine_that_is_away_says_why(self, speaking: SpeakerCase) -> None:
        with pytest.raises(SpeechUnavailable, match=r"\w"):
            await speaking.gone.say("hello")

    async def test_it_says_how_it_is(self, speaking: SpeakerCase) -> None:
        assert await speaking.engine.probe()
