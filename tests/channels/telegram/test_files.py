import asyncio
import json
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.channels.incoming_files import NOT_HEARD
from agent.channels.speech.openai import OpenAiRecogniser
from agent.channels.speech_settings import SpeechSettings
from agent.config import Secret
from agent.messages import Address
from agent.net.http import HttpClient
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import JSON, Reply
from tests.fakes.speech import speech_service
from tests.fakes.telegram_bot import content_of, listening
from tests.fakes.telegram_server import Fault
from tests.fakes.telegram_world import ANNA
from tests.waits import wait_until

ADDRESS = Address("telegram", str(ANNA), str(ANNA))
OGG = b"OggS" + bytes(range(200))


async def test_a_picture_is_kept_under_a_name_of_our_own(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        small, large = bot.server.world.keep(b"\xff\xd8", "s"), bot.server.world.keep(OGG, "l")
        await bot.server.world.write(photo=[small, large], caption="what is this?")
        [heard] = await bot.hear()
        [file] = heard.attachments
        assert (heard.text, file.media_type) == ("what is this?", "image/jpeg")
        assert Path(file.path).parent == tmp_path / "inbox"
        assert (Path(file.path).suffix, content_of(file)) == (".jpg", OGG)


async def test_a_name_from_outside_is_only_shown(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        told = bot.server.world.keep(b"%PDF", "d")
        told |= {"file_name": "../../etc/\x1b[31mpasswd.sh", "mime_type": "application/pdf"}
        await bot.server.world.write(document=told)
        [file] = (await bot.hear())[0].attachments
        assert file.name == "../../etc/[31mpasswd.sh"
        assert Path(file.path).parent == tmp_path / "inbox"
        assert Path(file.path).suffix == ".pdf"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("getFile", refuses="Bad Request: file is too big"), "file is too big"),
        (Fault("file", html=502), "answered|trouble"),
        (Fault("file", cuts=True), "connection"),
    ],
)
async def test_a_file_that_cannot_be_had_is_said_in_the_message(
    fault: Fault, reason: str, tmp_path: Path
) -> None:
    async with listening(tmp_path) as bot:
        bot.server.faults.append(fault)
        await bot.server.world.write(document=bot.server.world.keep(b"x", "d"), caption="look")
        [heard] = await bot.hear()
        assert heard.notes[0].startswith("I could not fetch a file: ")
        assert any(word in heard.notes[0] for word in reason.split("|"))
        assert heard.attachments == ()


async def test_a_file_that_is_said_to_be_too_large_is_not_asked_for(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        told = bot.server.world.keep(b"x", "d") | {"file_size": 30 * 1024 * 1024}
        await bot.server.world.write(document=told)
        assert "larger than the 20 MB" in (await bot.hear())[0].notes[0]
        assert not bot.server.called("getFile")


async def test_a_strangers_files_are_left_where_they_are(tmp_path: Path) -> None:
    async with listening(tmp_path, knows=lambda _: False) as bot:
        await bot.server.world.write(document=bot.server.world.keep(b"x", "d"))
        [heard] = await bot.hear()
        assert (heard.notes, heard.attachments) == (
            ("I did not fetch a file: only of people with access I keep files.",),
            (),
        )
        assert not bot.server.called("getFile")


async def test_a_voice_message_is_written_down(tmp_path: Path) -> None:
    reply = Reply(json.dumps({"text": " turn the lamp on "}).encode(), content_type=JSON)
    async with speech_service(reply) as service:
        http = HttpClient()
        settings = SpeechSettings(base_url=service.base_url, model="whisper-1")
        recogniser = OpenAiRecogniser(settings, Secret("sk-speech"), http)
        async with listening(tmp_path, recogniser=recogniser) as bot:
            await bot.server.world.write(voice=bot.server.world.keep(OGG, "v"))
            [heard] = await bot.hear()
        await http.aclose()
        assert (heard.text, len(heard.attachments)) == ("turn the lamp on", 1)
        assert heard.is_spoken
        [asked] = service.requests
        assert asked.path == "/v1/audio/transcriptions"
        assert asked.headers["authorization"] == "Bearer sk-speech"
        assert asked.fields["model"] == "whisper-1"
        assert (asked.name.endswith(".ogg"), asked.content) == (True, OGG)


async def test_a_voice_message_without_a_service_says_so(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        await bot.server.world.write(voice=bot.server.world.keep(OGG, "v"))
        [heard] = await bot.hear()
        assert heard.notes == (NOT_HEARD,)
        assert heard.attachments[0].media_type == "audio/ogg"
        assert not heard.is_spoken


async def test_a_stop_and_a_button_do_not_wait_for_a_file(tmp_path: Path) -> None:
    async with listening(tmp_path, clock=SteppedClock()) as bot:
        bot.server.may_download.clear()
        question = Question("board_gpio_write", "{}", "it moves something")
        asking = asyncio.create_task(bot.channel.ask(ADDRESS, question))
        await wait_until(lambda: bot.server.world.sent)
        await bot.server.world.write(document=bot.server.world.keep(OGG, "d"), caption="look")
        await wait_until(lambda: bot.server.called("getFile"))
        await bot.server.world.write("/estop")
        await bot.server.world.press(bot.server.world.sent[0], "No")
        assert [one.text for one in await bot.hear()] == ["/estop"]
        assert await asking is Answer.NO
        bot.server.may_download.set()
        assert [one.text for one in await bot.hear(2)] == ["/estop", "look"]
        await bot.server.world.write("next")
        assert [one.text for one in await bot.hear(3)] == ["/estop", "look", "next"]
        assert len(bot.server.world.answered_callbacks) == 1
