"""ntfy against the pretended server: the contract of channels, and what only a topic has."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Question
from agent.channels.ntfy.channel import PLATFORM, NtfyChannel, NtfyCursor
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, NtfySettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused, MessageRefused
from agent.messages import Attachment, Inbound, Provenance
from agent.net.http import HttpClient
from agent.settings import surroundings
from agent.storage.files import write_atomic
from agent.system.clock import SystemClock
from tests.contracts import channel
from tests.contracts.listener import answer, listening
from tests.fakes import ntfy_server
from tests.fakes.http_wire import Request
from tests.fakes.ntfy_platform import TOPIC, NtfyPlatform
from tests.fakes.ntfy_server import TOKEN, NtfyServer
from tests.waits import wait_until

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something")


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    made = HttpClient()
    yield made
    await made.aclose()


@pytest.fixture
async def server() -> AsyncIterator[NtfyServer]:
    async with ntfy_server.running(NtfyServer()) as made:
        yield made


@pytest.fixture
def platform(server: NtfyServer, http: HttpClient, tmp_path: Path) -> NtfyPlatform:
    return NtfyPlatform(server, http, tmp_path)


@pytest.mark.parametrize("check", channel.CHECKS, ids=lambda check: check.__name__)
async def test_ntfy(
    check: Callable[[NtfyPlatform], Awaitable[None]], platform: NtfyPlatform
) -> None:
    if reason := platform.cannot.get(check.__name__):
        pytest.skip(f"ntfy {reason}")
    await check(platform)


async def test_a_file_goes_with_an_answer(platform: NtfyPlatform, tmp_path: Path) -> None:
    await channel.a_file_goes_with_an_answer(platform, tmp_path)


async def test_what_was_written_before_the_first_start_is_nobodys_message(
    platform: NtfyPlatform,
) -> None:
    platform.server.publish(TOPIC, "long ago", time=1_700_000_000)
    async with listening(platform.channel) as listener:
        await platform.write("now")
        [heard] = await listener.first()
        assert heard.text == "now"


async def test_a_message_says_when_it_was_written(platform: NtfyPlatform) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.opened)
        platform.server.tell(_event(time=1_700_000_000, title="Door"))
        [heard] = await listener.first()
        assert heard.sent_at_s == 1_700_000_000.0
        assert heard.text == "Door\nhello"


@pytest.mark.parametrize(
    "more",
    [
        {"event": "keepalive"},
        {"event": "poll_request"},
        {"event": "message_delete"},
        {"encoding": "base64"},
        {"tags": ["robot"]},
        {"id": "../x"},
        {"time": "soon"},
    ],
)
async def test_what_is_no_message_of_a_person_is_passed_over(
    platform: NtfyPlatform, more: dict[str, object]
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.opened)
        platform.server.tell(_event(**more))
        await platform.write("and then")
        [heard] = await listener.first()
        assert heard.text == "and then"


@pytest.mark.parametrize(
    # The second is no address, which the server lets through
    "url",
    ["http://127.0.0.1:1/admin?do=it", "https://[/file/x.png"],
)
async def test_a_file_elsewhere_is_not_asked_for(platform: NtfyPlatform, url: str) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.opened)
        file = {"name": "x", "url": url}
        platform.server.tell(_event(attachment=file))
        [heard] = await listener.first()
        assert heard.notes == ("I do not fetch files from other places.",)
        assert heard.attachments == ()


async def test_what_stops_the_agent_does_not_wait_for_a_file(platform: NtfyPlatform) -> None:
    platform.server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [first] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(first.address, QUESTION))
        await wait_until(lambda: platform.shown(first))
        await platform.write_with_file("look", b"%PDF")
        await wait_until(lambda: any("/file/" in call.target for call in platform.server.calls))
        await platform.write("and then")
        await platform.write("/stop")
        await platform.write(f"yes {QUESTION.question_id}")
        assert await asking is Answer.YES
        assert [one.text for one in await listener.first(2)] == ["lamp on", "/stop"]
        platform.server.may_hand_out.set()
        heard = (await listener.first(4))[2:]
        assert [one.text for one in heard] == ["look", "and then"]
        assert len(heard[0].attachments) == 1
        await platform.write("last")
        assert (await listener.first(5))[-1].text == "last"


async def test_a_strangers_file_is_not_fetched(server: NtfyServer, platform: NtfyPlatform) -> None:
    stranger = replace(platform.channel._place, knows=lambda _inbound: False)
    closed = NtfyChannel(platform.channel._api, stranger, SystemClock())
    async with listening(closed) as listener:
        await platform.write_with_file("look", b"content")
        [heard] = await listener.first()
        assert (heard.text, heard.notes) == (
            "look",
            ("I did not fetch a file: only of people with access I keep files.",),
        )
    assert not any(call.target.startswith("/file/") for call in server.calls)


async def test_a_question_has_buttons_that_write_the_answer(platform: NtfyPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, QUESTION))
        await wait_until(platform.ours)
        [shown] = platform.ours()
        yes, no = shown["actions"]
        assert (yes["label"], no["label"]) == ("Yes", "No")
        assert yes["url"] == f"{platform.server.url}/{TOPIC}"
        # What the telephone does when it is pressed
        pressed = Request(yes["method"], f"/{TOPIC}", {}, yes["body"].encode())
        platform.server._published(pressed, f"/{TOPIC}")
        assert await asking is Answer.YES
        assert [one.text for one in listener.heard] == ["lamp on"]


async def test_a_closed_topic_gets_no_buttons_and_never_shows_the_token(
    http: HttpClient, tmp_path: Path
) -> None:
    async with ntfy_server.running(NtfyServer(is_closed=True)) as server:
        platform = NtfyPlatform(server, http, tmp_path)
        async with listening(platform.channel) as listener:
            await platform.write("lamp on")
            [heard] = await listener.first()
            asking = asyncio.ensure_future(platform.channel.ask(heard.address, QUESTION))
            await wait_until(platform.ours)
            assert "actions" not in platform.ours()[0]
            assert TOKEN not in json.dumps(server.cache)
            await platform.answer_question(QUESTION, Answer.NO)
            assert await asking is Answer.NO


async def test_the_same_answer_again_takes_its_own_place(platform: NtfyPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "Here.", 7))
        await platform.restarted().send(answer(heard, "Here.", 7))
        assert {one["sequence_id"] for one in platform.ours()} == {"barnacle-7-0"}


@pytest.mark.parametrize(
    ("fault", "error", "retry_after_s"),
    [
        ((429, 42901, 0.0), ChannelUnavailable, 5.0),
        ((429, 42908, 0.0), ChannelUnavailable, 900.0),
        ((507, 50701, 0.0), ChannelUnavailable, None),
        ((413, 41301, 0.0), MessageRefused, None),
        ((400, 40024, 0.0), MessageRefused, None),
        ((401, 40101, 0.0), ChannelRefused, None),
        ((404, 40401, 0.0), ChannelRefused, None),
    ],
)
async def test_a_refusal_means_what_the_server_says(
    platform: NtfyPlatform,
    fault: tuple[int, int, float],
    error: type[Exception],
    retry_after_s: float | None,
) -> None:
    platform.server.fault = fault
    with pytest.raises(error) as caught:
        await platform.channel.send(answer(_inbound(), "Here."))
    assert getattr(caught.value, "retry_after_s", None) == retry_after_s


async def test_a_name_of_a_file_is_a_header(platform: NtfyPlatform, tmp_path: Path) -> None:
    path = tmp_path / "x"
    await asyncio.to_thread(path.write_bytes, b"content")
    file = Attachment(str(path), "text/plain", "Übersicht\r\nx-evil: 1.txt", 7)
    await platform.channel.send(replace(answer(_inbound(), ""), files=(file,)))
    call = platform.server.calls[-1]
    assert "x-evil" not in call.headers
    assert call.headers["filename"].startswith("=?UTF-8?B?")
    assert call.body == b"content"


async def test_who_we_are_there_is_said(http: HttpClient, tmp_path: Path) -> None:
    async with ntfy_server.running(NtfyServer(is_closed=True)) as server:
        _, paths = surroundings({"HOME": str(tmp_path)}, None, None)
        reach = PlatformContext(paths, {}, http, SystemClock())
        wanted = NtfySettings(base_url=server.url, topic=TOPIC, token=Secret(TOKEN))
        told = await PLATFORM.identify(ChannelsSettings(ntfy=wanted), reach)
        assert told == f"the topic at {server.url}/{TOPIC} is ours to read, as barnacle"
        wanted = NtfySettings(base_url=server.url, topic=TOPIC)
        with pytest.raises(ChannelRefused, match=r"channels\.ntfy\.token"):
            await PLATFORM.identify(ChannelsSettings(ntfy=wanted), reach)
        with pytest.raises(ConfigRefused, match="no topic"):
            await PLATFORM.identify(ChannelsSettings(ntfy=NtfySettings()), reach)


def _event(**more: object) -> dict[str, object]:
    told = {"id": "abcdefghijkl", "time": 1_795_000_000, "event": "message", "message": "hello"}
    return {**told, **more}


def _inbound() -> Inbound:
    return Inbound("1", "ntfy", TOPIC, TOPIC, "hello", 0.0, Provenance.WEB)


async def since(path: Path, topic: str = "t") -> str:
    position = NtfyCursor(path, topic)
    await position.load()
    return position.since


async def test_it_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "ntfy/position.json"
    assert await since(path) == ""
    await NtfyCursor(path, "t").advance("abc")
    assert await since(path) == "abc"
    assert await since(path, "another") == ""


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"topic": "t"}', b'{"topic": "t", "since": "a&poll=1"}']
)
async def test_what_is_no_place_is_none(tmp_path: Path, content: bytes) -> None:
    write_atomic(tmp_path / "p", content)
    assert await since(tmp_path / "p") == ""


async def test_a_folder_that_takes_no_writing_ends_nothing(tmp_path: Path) -> None:
    write_atomic(tmp_path / "p", b"")
    position = NtfyCursor(tmp_path / "p" / "q", "t")
    await position.advance("abc")
    assert position.since == "abc"
