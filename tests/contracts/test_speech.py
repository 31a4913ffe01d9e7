"""Every engine under the cases of its seam: fakes, servers of the library `wyoming`, programs."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.channels.speech.base import OGG, WAV
from agent.channels.speech.espeak import EspeakSpeaker
from agent.channels.speech.openai import OpenAiRecogniser, OpenAiSpeaker
from agent.channels.speech.pocketsphinx import PocketsphinxRecogniser
from agent.channels.speech.wyoming import WyomingRecogniser, WyomingSpeaker
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.config import Secret
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.speech import (
    SENTENCE,
    RecogniserCase,
    RecogniserContract,
    SpeakerCase,
    SpeakerContract,
)
from tests.fakes import wake_service
from tests.fakes.llm_server import JSON, Reply
from tests.fakes.sounds import kept, no_sounds, programs_by, programs_in
from tests.fakes.speech import speech_service
from tests.fakes.wyoming_house import WyomingHouse, wyoming_house
from tests.oracles import clients

NOBODY = "http://127.0.0.1:9/v1"
NO_SERVER = "tcp://127.0.0.1:9"
NO_SPEECH = no_sounds("espeak-ng", "opusenc")
NO_POCKETSPHINX = "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def spoken(tmp_path: Path) -> Attachment:
    """The sentence as a voice message, by this machine's own programs."""
    if NO_SPEECH:
        pytest.skip(NO_SPEECH)
    programs = programs_in(tmp_path)
    sound = await EspeakSpeaker(SpeakerSettings(voice="en-us"), programs).say(SENTENCE)
    voice = await programs.as_voice(sound, OGG)
    assert voice.media_type == OGG
    return kept(tmp_path / "said.ogg", voice.content, OGG)


@pytest.fixture
async def library_server() -> AsyncIterator[str]:
    clients.needed()
    async with wake_service.library_server() as server:
        yield server


def by_wyoming(server: str) -> SpeechSettings:
    return SpeechSettings(kind="wyoming", server=server)


class TestOpenAiRecogniser(RecogniserContract):
    @pytest.fixture
    async def hearing(self, tmp_path: Path, http: HttpClient) -> AsyncIterator[RecogniserCase]:
        reply = Reply(b'{"text": "turn the led on"}', 200, JSON)
        async with speech_service(reply) as service:
            yield RecogniserCase(
                OpenAiRecogniser(SpeechSettings(base_url=service.base_url), Secret(), http),
                OpenAiRecogniser(SpeechSettings(base_url=NOBODY), Secret(), http),
                kept(tmp_path / "said.ogg", b"OggS", OGG),
                reads=False,
            )


class TestWyomingRecogniser(RecogniserContract):
    @pytest.fixture
    async def hearing(self, tmp_path: Path, spoken: Attachment) -> AsyncIterator[RecogniserCase]:
        programs = programs_in(tmp_path)
        async with wyoming_house(WyomingHouse(text=SENTENCE)) as house:
            yield RecogniserCase(
                WyomingRecogniser(by_wyoming(house.server), programs),
                WyomingRecogniser(by_wyoming(NO_SERVER), programs),
                spoken,
            )


class TestRecogniserAtTheLibrarysServer(RecogniserContract):
    @pytest.fixture
    def hearing(self, tmp_path: Path, spoken: Attachment, library_server: str) -> RecogniserCase:
        programs = programs_in(tmp_path)
        return RecogniserCase(
            WyomingRecogniser(by_wyoming(library_server), programs),
            WyomingRecogniser(by_wyoming(NO_SERVER), programs),
            spoken,
        )


@pytest.mark.skipif(bool(NO_POCKETSPHINX), reason=NO_POCKETSPHINX)
class TestPocketsphinx(RecogniserContract):
    @pytest.fixture
    def hearing(self, tmp_path: Path, spoken: Attachment) -> RecogniserCase:
        return RecogniserCase(
            PocketsphinxRecogniser(lambda: ("led", "lamp"), programs_in(tmp_path)),
            PocketsphinxRecogniser(lambda: ("led",), programs_by(None)),
            spoken,
        )


class TestOpenAiSpeaker(SpeakerContract):
    @pytest.fixture
    async def speaking(self, http: HttpClient) -> AsyncIterator[SpeakerCase]:
        async with speech_service(Reply(b"OggS-opus", 200, OGG)) as service:
            wanted = SpeakerSettings(kind="openai", base_url=service.base_url)
            gone = SpeakerSettings(kind="openai", base_url=NOBODY)
            yield SpeakerCase(
                OpenAiSpeaker(wanted, Secret(), http), OpenAiSpeaker(gone, Secret(), http)
            )


def speakers(server: str) -> SpeakerCase:
    wanted, gone = (SpeakerSettings(kind="wyoming", server=one) for one in (server, NO_SERVER))
    return SpeakerCase(WyomingSpeaker(wanted), WyomingSpeaker(gone))


class TestWyomingSpeaker(SpeakerContract):
    @pytest.fixture
    async def speaking(self) -> AsyncIterator[SpeakerCase]:
        async with wyoming_house(WyomingHouse()) as house:
            yield speakers(house.server)


class TestSpeakerAtTheLibrarysServer(SpeakerContract):
    @pytest.fixture
    def speaking(self, library_server: str) -> SpeakerCase:
        return speakers(library_server)


@pytest.mark.skipif(bool(no_sounds("espeak-ng")), reason=no_sounds("espeak-ng"))
class TestEspeak(SpeakerContract):
    @pytest.fixture
    def speaking(self, tmp_path: Path) -> SpeakerCase:
        programs = programs_in(tmp_path)
        return SpeakerCase(
            EspeakSpeaker(SpeakerSettings(voice="en-us"), programs),
            EspeakSpeaker(SpeakerSettings(), programs_in(tmp_path, tmp_path)),
        )

    async def test_a_voice_that_it_does_not_have_is_said(self, tmp_path: Path) -> None:
        speaker = EspeakSpeaker(SpeakerSettings(voice="klingon9"), programs_in(tmp_path))
        with pytest.raises(Exception, match="espeak-ng failed"):
            await speaker.say("hello")

    async def test_it_gives_wav(self, speaking: SpeakerCase) -> None:
        assert (await speaking.engine.say("hello")).media_type == WAV
