from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.app.voice import AnswerVoice, open_voice
from agent.channels.received_files import ReceivedFiles
from agent.channels.speech.base import OGG, WAV, Sound
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.errors import SpeechUnavailable
from agent.net.http import HttpClient
from agent.settings import Paths
from tests.fakes.sounds import programs_by


class OneSoundSpeaker:
    """Says everything in the same way."""

    def __init__(self, sound: Sound | None) -> None:
        self.said: list[str] = []
        self._sound = sound

    async def say(self, text: str) -> Sound:
        self.said.append(text)
        if self._sound is None:
            raise SpeechUnavailable("nothing was spoken")
        return self._sound

    async def probe(self) -> str:
        return "speaks"


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


def voice(folder: Path, speaker: OneSoundSpeaker) -> AnswerVoice:
    return AnswerVoice(speaker, programs_by(None, folder), ReceivedFiles(folder / "spoken"))


async def test_the_sound_is_kept_as_a_voice_message(tmp_path: Path) -> None:
    speaker = OneSoundSpeaker(Sound(b"OggS-opus", OGG))
    kept = await voice(tmp_path, speaker)("The **led** is on.", OGG)
    assert kept is not None
    assert (kept.media_type, kept.is_voice, kept.size_bytes) == (OGG, True, 9)
    assert (tmp_path / "spoken" / kept.path).read_bytes() == b"OggS-opus"
    assert speaker.said == ["The led is on."]


@pytest.mark.parametrize("sound", [None, Sound(b"RIFF", WAV)], ids=["silent", "no-opusenc"])
async def test_what_cannot_be_spoken_is_in_the_log(
    tmp_path: Path, sound: Sound | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert await voice(tmp_path, OneSoundSpeaker(sound))("hello", OGG) is None
    assert "voice: answer not spoken (error=" in caplog.text


def test_nobody_speaks_who_is_not_asked_to(tmp_path: Path, http: HttpClient) -> None:
    paths = Paths(None, tmp_path)
    assert open_voice(None, paths, http) is None
    assert open_voice(SpeechSettings(speaker=SpeakerSettings()), paths, http) is None
    wanted = SpeechSettings(voice="mirror", speaker=SpeakerSettings())
    assert isinstance(open_voice(wanted, paths, http), AnswerVoice)
