"""iMessage against the pretended Mac: the contract of channels, and what only this way has."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.imessage.client import MAX_ANSWER_BYTES, PAGE
from agent.channels.imessage.cursor import OVERLAP_ROWS
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpClient
from tests.contracts import channel
from tests.contracts.listener import Listener, answer, listening
from tests.fakes import bluebubbles_server
from tests.fakes.bluebubbles_server import ANNA, DM, GROUP, BlueBubblesServer
from tests.fakes.imessage_platform import ImessagePlatform
from tests.waits import PATIENCE_S, wait_until


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    made = HttpClient()
    yield made
    await made.aclose()


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesServer]:
    async with bluebubbles_server.running(BlueBubblesServer()) as made:
        yield made


@pytest.fixture
def platform(server: BlueBubblesServer, http: HttpClient, tmp_path: Path) -> ImessagePlatform:
    return ImessagePlatform(server, http, tmp_path)


@pytest.mark.parametrize("check", channel.CHECKS, ids=lambda check: check.__name__)
async def test_imessage(
    check: Callable[[ImessagePlatform], Awaitable[None]], platform: ImessagePlatform
) -> None:
    await check(platform)


async def test_a_file_goes_with_an_answer(platform: ImessagePlatform, tmp_path: Path) -> None:
    await channel.a_file_goes_with_an_answer(platform, tmp_path)


async def test_what_was_there_before_is_nobodys_order_whenever_the_mac_gets_it(
    platform: ImessagePlatform,
) -> None:
    platform.server.write("last year")
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.looked)
        # History that comes to the Mac now, as a page full of it would
        for number in range(PAGE + 20):
            platform.server.write(f"old {number}", dateCreated=1_600_000_000_000 + number)
        await platform.write("now")
        [heard] = await listener.first()
        assert heard.text == "now"
        assert heard.sender == ANNA
        assert heard.reply_target == DM
        assert heard.sent_at_s is not None


async def test_a_long_absence_loses_nothing_in_whatever_order_it_was_written(
    platform: ImessagePlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
    row = platform.server.rows[-1]["originalROWID"]
    now_ms = platform.server.rows[-1]["dateCreated"] + 60_000
    # Rows that were deleted since, more of them than a window has
    row += 3 * PAGE
    for number in range(2 * PAGE):
        written = now_ms - number
        platform.server.write(f"{number}", originalROWID=row + number, dateCreated=written)
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: f"{2 * PAGE - 1}" in [one.text for one in listener.heard])
        # What was told as the agent ended may be told again; who keeps it knows its id
        heard = [one.text for one in listener.heard if one.text != "before"]
        assert heard == [f"{number}" for number in range(2 * PAGE)]


async def test_messages_that_fill_more_than_an_answer_are_all_heard(
    platform: ImessagePlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.looked)
        for number in range(OVERLAP_ROWS):
            platform.server.write(f"before {number}", attributedBody="x" * 900_000)
        await listener.first(OVERLAP_ROWS)
    await platform.write("short")
    platform.server.write("longer than any answer", attributedBody="x" * MAX_ANSWER_BYTES)
    await platform.write("last")
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: "last" in [one.text for one in listener.heard])
        heard = [one.text for one in listener.heard if "before" not in one.text]
        assert heard == ["short", "last"]


async def test_a_mac_that_was_set_up_anew_is_heard(platform: ImessagePlatform) -> None:
    """Its rows begin at one again, at the same address."""
    async with listening(platform.channel) as listener:
        for number in range(3 * OVERLAP_ROWS):
            await platform.write(f"before {number}")
        await listener.first(3 * OVERLAP_ROWS)
    server = platform.server
    server.rows, server._next_row, server.looked = [], 1, 0
    async with listening(platform.restarted()) as listener:
        # The first look finds out
        await wait_until(lambda: server.looked > 1)
        await platform.write("is anybody there?")
        [heard] = await listener.first()
        assert heard.text == "is anybody there?"


async def test_a_mac_whose_last_messages_were_deleted_goes_on(platform: ImessagePlatform) -> None:
    async with listening(platform.channel) as listener:
        for number in range(3 * OVERLAP_ROWS):
            await platform.write(f"before {number}")
        await listener.first(3 * OVERLAP_ROWS)
    del platform.server.rows[-2 * OVERLAP_ROWS :]
    await platform.write("after them")
    async with listening(platform.restarted()) as listener:
        [heard] = await listener.first()
        assert heard.text == "after them"
        await platform.write("and this")
        assert [one.text for one in await listener.first(2)][1:] == ["and this"]


async def test_what_is_seen_later_than_what_came_after_it_is_heard(
    platform: ImessagePlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        row = platform.server.rows[-1]["originalROWID"]
        platform.server.write("third", originalROWID=row + 2)
        await listener.first(2)
        platform.server.write("second", originalROWID=row + 1)
        await wait_until(lambda: len(listener.heard) == 3)
        assert listener.heard[-1].text == "second"


@pytest.mark.parametrize(
    "more",
    [
        {"isFromMe": True},
        {"associatedMessageGuid": "p:0/A-B", "associatedMessageType": "like"},
        {"itemType": 1, "groupActionType": 1},
        {"isAutoReply": True},
        {"handle": {"address": ANNA, "service": "SMS"}},
        {"handle": {"address": ANNA, "service": "RCS"}},
        {"handle": None},
        {"handle": {"address": "a b\x00", "service": "iMessage"}},
        {"chats": []},
        {"text": "\ufffc"},
        {"text": 7},
        {"dateRetracted": 5},
    ],
)
async def test_what_nobody_has_said_to_us_is_not_heard(
    platform: ImessagePlatform, more: dict[str, object]
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.looked)
        text = more.pop("text", "not this")
        row = platform.server.write("", **more)
        row["text"] = text
        await platform.write("this")
        [heard] = await listener.first()
        assert heard.text == "this"


@pytest.mark.parametrize(
    ("groups", "texts"),
    [
        ("all", ["all of you", "lamp on", "/estop"]),
        ("mention", ["lamp on", "/estop"]),
        ("off", ["in private"]),
    ],
)
async def test_groups_are_heard_as_it_is_configured(
    server: BlueBubblesServer, http: HttpClient, tmp_path: Path, groups: str, texts: list[str]
) -> None:
    platform = ImessagePlatform(server, http, tmp_path, groups=groups)
    async with listening(platform.channel) as listener:
        await wait_until(lambda: server.looked)
        server.write("all of you", GROUP)
        server.write("barnacle: lamp on", GROUP)
        # What makes safe needs no name
        server.write("/estop", GROUP)
        server.write("in private")
        heard = await listener.first(len(texts))
        assert [one.text for one in heard] == texts


@pytest.mark.parametrize("is_killed", [False, True])
async def test_an_answer_whose_receipt_was_lost_comes_once(
    platform: ImessagePlatform, *, is_killed: bool
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        # The same words as before, which are no receipt
        await platform.channel.send(answer(heard, "It is **done**.", 1))
        platform.server.loses_receipt = True
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(answer(heard, "It is **done**.", 2))
        trying = platform.restarted() if is_killed else platform.channel
        await trying.send(answer(heard, "It is **done**.", 2))
        assert platform.shown(heard) == ["It is done."] * 2
        await trying.send(answer(heard, "It is **done**.", 3))
        assert platform.shown(heard) == ["It is done."] * 3


async def test_a_file_whose_receipt_was_lost_comes_once(
    platform: ImessagePlatform, tmp_path: Path
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF")
    file = channel.Attachment(str(path), "application/pdf", "report.pdf", 4)
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        message = replace(answer(heard, ""), files=(file,))
        platform.server.loses_receipt = True
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(message)
        await platform.restarted().send(message)
        assert platform.files() == [b"%PDF"]


async def test_what_is_on_its_way_is_waited_for_under_one_name(platform: ImessagePlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.break_next_send()
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(answer(heard, "Here."))
        await platform.channel.send(answer(heard, "Here."))
        [told] = platform.server.asked
        platform.server.queued.add(told["tempGuid"])
        platform.server.rows.pop()
        with pytest.raises(ChannelUnavailable, match="already queued") as caught:
            await platform.restarted().send(answer(heard, "Here."))
        assert caught.value.retry_after_s == 30


async def test_what_apple_refuses_is_not_tried_again(platform: ImessagePlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.server.apple_error = 22
        with pytest.raises(MessageRefused, match="error 22"):
            await platform.channel.send(answer(heard, "Here."))


@pytest.mark.parametrize(("has_it", "method"), [(True, "private-api"), (False, "apple-script")])
async def test_the_private_interface_is_used_where_it_is(
    platform: ImessagePlatform, method: str, *, has_it: bool
) -> None:
    platform.server.private_api = has_it
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "Here."))
        assert platform.server.asked[0]["method"] == method


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_a_file_of_sound_is_no_order_of_the_sender(
    platform: ImessagePlatform, *, is_recorded: bool
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.looked)
        file = platform.server.put_file(b"x", "audio/mpeg", "talk.mp3")
        platform.server.write("keep it", attachments=[file], isAudioMessage=is_recorded)
        [heard] = await listener.first()
        assert bool(heard.notes) == is_recorded
        assert heard.attachments[0].name == ("" if is_recorded else "talk.mp3")


async def test_the_files_of_a_stranger_are_not_fetched(platform: ImessagePlatform) -> None:
    async with listening(platform.restarted(knows=False)) as listener:
        await platform.write_with_file("look", b"%PDF")
        [heard] = await listener.first()
        assert (heard.text, heard.notes) == (
            "look",
            ("I did not fetch a file: only of people with access I keep files.",),
        )
        assert not heard.attachments


async def test_a_file_that_the_mac_has_a_little_later_is_waited_for(
    platform: ImessagePlatform,
) -> None:
    platform.server.late = 3
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF")
        [heard] = await listener.first()
        assert [one.size_bytes for one in heard.attachments] == [4]
        assert heard.text == "look"


async def test_what_stops_the_agent_waits_for_no_file_and_comes_once(
    platform: ImessagePlatform,
) -> None:
    platform.server.holds_files = asyncio.Event()
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF")
        await platform.write("and then")
        await platform.write("/estop")
        [heard] = await listener.first()
        assert heard.text == "/estop"
        platform.server.holds_files.set()
        heard_all = await listener.first(3)
        assert [one.text for one in heard_all] == ["/estop", "look", "and then"]


async def test_a_file_that_is_gone_is_said(platform: ImessagePlatform) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.server.looked)
        file = platform.server.put_file(b"x", "image/jpeg")
        platform.server.files.clear()
        platform.server.write("look", attachments=[file])
        [heard] = await listener.first()
        assert heard.notes[0].startswith("I could not fetch a file: 127.0.0.1")
        assert "password" not in f"{heard.text} {heard.notes}"


async def test_another_server_begins_anew(
    platform: ImessagePlatform, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
    async with bluebubbles_server.running(BlueBubblesServer()) as other:
        other.write("its own past")
        moved = ImessagePlatform(other, http, tmp_path)
        async with listening(moved.channel) as listener:
            await moved.write("here now")
            [heard] = await listener.first()
            assert heard.text == "here now"


async def test_a_password_that_is_no_more_is_a_refusal(
    platform: ImessagePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bluebubbles_server, "PASSWORD", "another")
    with pytest.raises(ChannelRefused, match=r"channels\.imessage\.password"):
        async with asyncio.timeout(PATIENCE_S):
            await platform.channel.listen(Listener().deliver)
