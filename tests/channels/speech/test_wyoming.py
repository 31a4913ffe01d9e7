"""The client at servers of the house that answer, lie, flood and are silent."""

from pathlib import Path

import pytest

from agent.channels.speech import base, wyoming
from agent.channels.speech.base import OGG
from agent.channels.speech.pcm import Pcm, read_wav, wav_of
from agent.channels.speech.wyoming import WyomingRecogniser, WyomingSpeaker
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from tests.fakes.sandbox import EchoingSandbox
from tests.fakes.sounds import kept, programs_by
from tests.fakes.wyoming_house import RATE_HZ, WyomingHouse, event, wyoming_house

SAMPLES = bytes(range(256)) * 75
TOO_LONG = b'{"type": "audio-chunk", "payload_length": 99999999}\n'


@pytest.fixture
def speech(tmp_path: Path) -> Attachment:
    return kept(tmp_path / "said.ogg", b"OggS", OGG)


def recogniser(house: WyomingHouse, tmp_path: Path, language: str = "") -> WyomingRecogniser:
    (tmp_path / "opusdec").touch()
    echo = EchoingSandbox(tmp_path, wav_of(Pcm(SAMPLES, 16_000)))
    settings = SpeechSettings(kind="wyoming", server=house.server, language=language)
    return WyomingRecogniser(settings, programs_by(echo, tmp_path))


def speaker(house: WyomingHouse, voice: str = "") -> WyomingSpeaker:
    return WyomingSpeaker(SpeakerSettings(kind="wyoming", server=house.server, voice=voice))


async def test_the_samples_are_sent_whole_and_the_transcript_is_cleaned(
    tmp_path: Path, speech: Attachment
) -> None:
    async with wyoming_house(WyomingHouse(text=" turn\x1b on ")) as house:
        told = await recogniser(house, tmp_path, "de").words(speech)
    assert told == ("turn on", "")
    kinds = [kind for kind, _, _ in house.heard]
    assert kinds == ["transcribe", "audio-start", *["audio-chunk"] * 3, "audio-stop"]
    assert house.heard[0][1] == {"language": "de"}
    assert house.heard[1][1] == {"rate": 16_000, "width": 2, "channels": 1}
    assert b"".join(payload for _, _, payload in house.heard) == SAMPLES


async def test_a_text_is_spoken_with_the_voice_that_is_wanted() -> None:
    async with wyoming_house(WyomingHouse()) as house:
        sound = await speaker(house, "en_GB-alan").say("Good morning.")
    assert read_wav(sound.content) == Pcm(house.samples, RATE_HZ)
    wanted = {"text": "Good morning.", "voice": {"name": "en_GB-alan"}}
    assert house.heard == [("synthesize", wanted, b"")]


async def test_two_channels_become_one() -> None:
    async with wyoming_house(WyomingHouse(samples=b"\4\0\2\0" * 10, channels=2)) as house:
        sound = await speaker(house).say("hello")
    assert read_wav(sound.content).samples == b"\3\0" * 10


HOSTILE = {
    "error": (event("error", text="no\x1b model"), "the speech server says: no model"),
    "gone": (b"", "left before"),
    "page": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not understood"),
    "lie": (TOO_LONG, "is not understood"),
    "flood": (event("audio-chunk", bytes(1024 * 1024)) * 7, "sent too much sound"),
    "chatter": (event("ping") * 60, "too many events"),
}


@pytest.mark.parametrize("raw", HOSTILE)
async def test_a_hostile_server_ends_the_call_and_nothing_else(
    raw: str, tmp_path: Path, speech: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wyoming, "MAX_EVENTS", 50)
    said, reason = HOSTILE[raw]
    async with wyoming_house(WyomingHouse(raw=said)) as house:
        words, trouble = await recogniser(house, tmp_path).words(speech)
        with pytest.raises(SpeechUnavailable, match=reason):
            await speaker(house).say("hello")
    assert words == ""
    assert trouble


async def test_a_silent_server_has_its_time(
    tmp_path: Path, speech: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "TRANSCRIBE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(base, "SPEAK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(wyoming, "PROBE_TIMEOUT_S", 0.05)
    async with wyoming_house(WyomingHouse(raw=b"", stays=True)) as house:
        _, trouble = await recogniser(house, tmp_path).words(speech)
        with pytest.raises(SpeechUnavailable, match="nothing was spoken within"):
            await speaker(house).say("hello")
        with pytest.raises(SpeechUnavailable, match="does not say what it is"):
            await speaker(house).probe()
    assert "took longer than" in trouble


@pytest.mark.parametrize(
    ("house", "reason"),
    [
        (WyomingHouse(samples=b""), "gave no sound"),
        (WyomingHouse(channels=7), "one or two channels"),
    ],
)
async def test_a_sound_that_is_none_is_refused(house: WyomingHouse, reason: str) -> None:
    async with wyoming_house(house):
        with pytest.raises(SpeechUnavailable, match=reason):
            await speaker(house).say("hello")


async def test_nobody_there_is_said(tmp_path: Path, speech: Attachment) -> None:
    async with wyoming_house(WyomingHouse()) as house:
        pass
    _, trouble = await recogniser(house, tmp_path).words(speech)
    assert "could not be reached" in trouble


async def test_the_probe_names_the_program_or_what_is_missing(tmp_path: Path) -> None:
    async with wyoming_house(WyomingHouse(info={"tts": [{"name": "piper\x1b"}]})) as house:
        assert (await speaker(house).probe()).startswith("speaks by piper at 127.0.0.1:")
        with pytest.raises(SpeechUnavailable, match="no speech is recognised there"):
            await recogniser(house, tmp_path).probe()
