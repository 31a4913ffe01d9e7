import json
from pathlib import Path

import pytest

from agent.channels.settings import SpeechSettings
from agent.channels.transcriber import SpeechTranscriber
from agent.config import Secret
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.fakes.llm_server import JSON, Reply
from tests.fakes.speech import speech_service


def told(content: object, status: int = 200) -> Reply:
    return Reply(json.dumps(content).encode(), status, JSON)


def recorded(path: Path) -> Attachment:
    path.write_bytes(b"OggS")
    return Attachment(str(path), "audio/ogg", "", 4)


async def said(reply: Reply, path: Path) -> tuple[str, str]:
    speech = recorded(path)
    http = HttpClient()
    try:
        async with speech_service(reply) as service:
            settings = SpeechSettings(base_url=service.base_url)
            return await SpeechTranscriber(settings, Secret(), http).words(speech)
    finally:
        await http.aclose()


async def test_words_are_cleaned(tmp_path: Path) -> None:
    assert await said(told({"text": "on\u202e\x1b please"}), tmp_path / "v.ogg") == (
        "on please",
        "",
    )


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
async def test_why_there_are_no_words_is_said(reply: Reply, reason: str, tmp_path: Path) -> None:
    words, trouble = await said(reply, tmp_path / "v.ogg")
    assert words == ""
    assert reason in trouble


async def test_a_service_that_is_not_there_is_said(tmp_path: Path) -> None:
    speech = recorded(tmp_path / "v.ogg")
    http = HttpClient()
    transcriber = SpeechTranscriber(
        SpeechSettings(base_url="http://127.0.0.1:9/v1"), Secret(), http
    )
    words, trouble = await transcriber.words(speech)
    await http.aclose()
    assert (words, "127.0.0.1:9 could not be reached" in trouble) == ("", True)


async def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    http = HttpClient()
    transcriber = SpeechTranscriber(
        SpeechSettings(base_url="http://127.0.0.1:9/v1"), Secret(), http
    )
    _, trouble = await transcriber.words(Attachment(str(tmp_path / "gone"), "audio/ogg"))
    await http.aclose()
    assert trouble == "the voice message cannot be read: No such file or directory"
