import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.speech.base import OGG, WAV, Sound
from agent.channels.speech.openai import OpenAiRecogniser, OpenAiSpeaker
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.config import Secret
from agent.errors import SpeechUnavailable
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.fakes.llm_server import JSON, Reply
from tests.fakes.speech import SpeechService, speech_service

NOBODY = "http://127.0.0.1:9/v1"


def told(content: object, status: int = 200) -> Reply:
    return Reply(json.dumps(content).encode(), status, JSON)


def recorded(path: Path) -> Attachment:
    path.write_bytes(b"OggS")
    return Attachment(str(path), "audio/ogg", "", 4)


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


async def said(reply: Reply, path: Path, http: HttpClient) -> tuple[str, str]:
    speech = recorded(path)
    async with speech_service(reply) as service:
        settings = SpeechSettings(base_url=service.base_url)
        return await OpenAiRecogniser(settings, Secret(), http).words(speech)


async def spoken(reply: Reply, http: HttpClient, key: str = "") -> tuple[Sound, SpeechService]:
    async with speech_service(reply) as service:
        settings = SpeakerSettings(kind="openai", base_url=service.base_url, voice="nova")
        return await OpenAiSpeaker(settings, Secret(key), http).say("Grüße"), service


async def test_words_are_cleaned(tmp_path: Path, http: HttpClient) -> None:
    heard = await said(told({"text": "on\u202e\x1b please"}), tmp_path / "v.ogg", http)
    assert heard == ("on please", "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (told({"error": "no"}, 401), "the speech service answered 401"),
        (told({"text": ""}), "heard no words"),
        (told({"text": 5}), "heard no words"),
        (told([]), "heard no words"),
        (Reply(b"<html>", 200, "text/html"), "heard no words"),
    ],
)
async def test_why_there_are_no_words_is_said(
    reply: Reply, reason: str, tmp_path: Path, http: HttpClient
) -> None:
    words, trouble = await said(reply, tmp_path / "v.ogg", http)
    assert words == ""
    assert reason in trouble


async def test_a_service_that_is_not_there_is_said(tmp_path: Path, http: HttpClient) -> None:
    speech = recorded(tmp_path / "v.ogg")
    engine = OpenAiRecogniser(SpeechSettings(base_url=NOBODY), Secret(), http)
    words, trouble = await engine.words(speech)
    assert (words, "127.0.0.1:9 could not be reached" in trouble) == ("", True)


async def test_a_file_that_is_gone_is_said(tmp_path: Path, http: HttpClient) -> None:
    engine = OpenAiRecogniser(SpeechSettings(base_url=NOBODY), Secret(), http)
    _, trouble = await engine.words(Attachment(str(tmp_path / "gone"), "audio/ogg"))
    assert trouble == "the voice message cannot be read: No such file or directory"


async def test_the_text_is_spoken_as_opus_with_the_key_and_the_voice(http: HttpClient) -> None:
    sound, service = await spoken(Reply(b"OggS-opus", 200, OGG), http, "sk-test")
    assert sound == Sound(b"OggS-opus", OGG)
    [asked] = service.requests
    assert asked.path == "/v1/audio/speech"
    assert asked.headers["authorization"] == "Bearer sk-test"
    assert json.loads(asked.content) == {
        "model": "tts-1",
        "voice": "nova",
        "input": "Grüße",
        "response_format": "opus",
    }


async def test_what_a_sound_is_shows_in_its_first_bytes(http: HttpClient) -> None:
    """Some services send WAV whatever they are asked for, and call it something else."""
    sound, _ = await spoken(Reply(b"RIFF-wave", 200, "audio/mpeg"), http)
    assert sound.media_type == WAV


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (told({"error": "no"}, 429), "answered 429"),
        (Reply(b"<html>", 200, "text/html"), "neither Ogg nor WAV"),
        (Reply(b"", 200, OGG), "neither Ogg nor WAV"),
        (Reply(b"OggS" + bytes(6 * 1024 * 1024), 200, OGG), "too much sound"),
    ],
    ids=["refused", "page", "nothing", "flood"],
)
async def test_why_nothing_is_spoken_is_said(reply: Reply, reason: str, http: HttpClient) -> None:
    with pytest.raises(SpeechUnavailable, match=reason):
        await spoken(reply, http)


async def test_nobody_who_speaks_is_said(http: HttpClient) -> None:
    settings = SpeakerSettings(kind="openai", base_url=NOBODY)
    with pytest.raises(SpeechUnavailable, match="could not be reached"):
        await OpenAiSpeaker(settings, Secret(), http).say("hello")
