import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.channels.whatsapp.events import verify_token
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from tests.contracts.listener import answer, listening
from tests.fakes.whatsapp_platform import WhatsAppPlatform, running
from tests.fakes.whatsapp_server import ANNA, APP_SECRET, body_of
from tests.waits import stays, wait_until

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something", always="the led")
VERIFY = verify_token(APP_SECRET)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[WhatsAppPlatform]:
    async with running(tmp_path) as made:
        yield made


async def test_who_knows_the_token_gets_the_challenge_back(platform: WhatsAppPlatform) -> None:
    query = f"hub.mode=subscribe&hub.verify_token={VERIFY}&hub.challenge=1158201444"
    told = await platform.server.ask("GET", f"/whatsapp?{query}")
    assert (told.status, told.said) == (200, "1158201444")
    assert told.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1",
        f"hub.mode=unsubscribe&hub.verify_token={VERIFY}&hub.challenge=1",
        f"hub.mode=subscribe&hub.verify_token={VERIFY}",
        f"hub.mode=subscribe&hub.verify_token={VERIFY}&hub.challenge=%3Cscript%3E",
        "&".join(f"a{number}=1" for number in range(50)),
        "hub.mode=subscribe&hub.verify_token=%ff%fe&hub.challenge=1",
    ],
)
async def test_nobody_else_gets_any(platform: WhatsAppPlatform, query: str) -> None:
    told = await platform.server.ask("GET", f"/whatsapp?{query}")
    assert told.status == 403
    assert VERIFY not in told.said


async def test_a_query_is_taken_nowhere_else(platform: WhatsAppPlatform) -> None:
    assert (await platform.server.ask("GET", "/health?hub.mode=subscribe")).status == 400
    assert (await platform.server.ask("POST", "/whatsapp?a=b", b"{}", "sha256=")).status == 400


async def test_what_is_not_signed_over_its_bytes_is_heard_by_nobody(
    platform: WhatsAppPlatform,
) -> None:
    server = platform.server
    body = body_of({"messages": [server.message("text", text={"body": "lamp on"})]})
    right = server.signature(body)
    async with listening(platform.channel) as listener:
        for sent, signature in (
            (body, None),
            (body, "sha256="),
            (body, right.removeprefix("sha256=")),
            (body, right[:-1] + ("0" if right[-1] != "0" else "1")),
            (body + b" ", right),
            (body, right.upper()),
        ):
            assert (await server.ask("POST", "/whatsapp", sent, signature)).status == 401
        assert (await server.ask("POST", "/whatsapp", body, right)).status == 200
        assert [one.text for one in listener.heard] == ["lamp on"]


async def test_a_post_is_answered_when_all_in_it_is_kept(platform: WhatsAppPlatform) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        listener.may_keep.clear()
        messages = [server.message("text", text={"body": text}) for text in ("one", "two")]
        posting = asyncio.ensure_future(server.tell(*messages))
        await stays(lambda: not posting.done(), 0.05)
        listener.may_keep.set()
        await posting
        assert [one.text for one in listener.heard] == ["one", "two"]
        assert server.answers == [200]


async def test_what_comes_again_is_heard_once_also_after_a_restart(
    platform: WhatsAppPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        await platform.repeat()
        assert len(listener.heard) == 1
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: platform.server.answers[-1] == 200)
        await platform.repeat()
        await platform.write("next")
        await wait_until(lambda: [one.text for one in listener.heard] == ["next"])


async def test_what_nobody_can_read_costs_no_other_message(platform: WhatsAppPlatform) -> None:
    server = platform.server
    good = server.message("text", text={"body": "here"})
    bad: list[object] = [{"id": 5}, {"type": "text"}, [], server.message("image", image={"id": ""})]
    async with listening(platform.channel) as listener:
        for body in (b"{", b"\xff", b"[]", b"{}", body_of({"messages": [*bad, good]})):
            await server.post(body)
        await wait_until(lambda: listener.heard)
        assert [one.text for one in listener.heard] == ["here"]
        assert set(server.answers) == {200}


async def test_another_number_of_the_business_is_not_ours(platform: WhatsAppPlatform) -> None:
    server = platform.server
    message = server.message("text", text={"body": "not for you"})
    async with listening(platform.channel) as listener:
        await server.post(body_of({"messages": [message]}, number_id="1"))
        await server.post(body_of({"messages": [message]}, name="message_echoes"))
        await platform.write("for you")
        assert [one.text for one in listener.heard] == ["for you"]


async def test_who_shows_no_number_is_answered_by_what_stands_for_it(
    platform: WhatsAppPlatform,
) -> None:
    server = platform.server
    hidden = server.message("text", text={"body": "hello"}) | {"from_user_id": "US.134912086553027"}
    del hidden["from"]
    async with listening(platform.channel) as listener:
        await server.tell(hidden)
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "Here."))
        assert heard.sender == server.sent[0]["recipient"] == "US.134912086553027"


@pytest.mark.parametrize(
    ("kind", "about", "text"),
    [
        ("location", {"latitude": 52.52, "longitude": 13.405}, "[a place: 52.520000, 13.405000]"),
        ("button", {"text": "Later", "payload": "x"}, "Later"),
        ("interactive", {"list_reply": {"id": "1", "title": "Lamp"}}, "Lamp"),
        ("order", {"catalog_id": "1"}, "[order: a message that nothing here can read]"),
    ],
)
async def test_other_kinds_are_said_in_words(
    platform: WhatsAppPlatform, kind: str, about: object, text: str
) -> None:
    async with listening(platform.channel) as listener:
        await platform.server.tell(platform.server.message(kind, **{kind: about}))
        [heard] = await listener.first()
        assert (heard.text, heard.sender_name) == (text, "Anna")


async def test_a_reaction_is_no_message(platform: WhatsAppPlatform) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        known = await server.say("hello")
        await server.tell(server.message("reaction", reaction={"message_id": known, "emoji": "👍"}))
        await server.say("next")
        assert [one.text for one in listener.heard] == ["hello", "next"]


async def test_a_strangers_file_is_not_fetched(platform: WhatsAppPlatform) -> None:
    platform.knows = False
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF-1.7")
        [heard] = await listener.first()
        assert (heard.text, heard.notes, heard.attachments) == (
            "look",
            ("I did not fetch a file: only of people with access I keep files.",),
            (),
        )
        assert not platform.server.calls


@pytest.mark.parametrize(
    "url", ["https://evil.example/x", "http://lookaside.fbsbx.com/x", "https://[", "/files"]
)
async def test_the_token_goes_to_no_other_place(platform: WhatsAppPlatform, url: str) -> None:
    platform.server.media_url = url
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF-1.7")
        [heard] = await listener.first()
        reason = "the file is not on WhatsApp's server"
        assert heard.notes == (f"I could not fetch a file: {reason}.",)


async def test_a_file_of_a_kind_that_is_not_taken_is_said(
    platform: WhatsAppPlatform, tmp_path: Path
) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\0\1")
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        file = Attachment(str(path), "application/octet-stream", "x.bin", 2)
        await platform.channel.send(replace(answer(heard, ""), files=(file,)))
        assert platform.shown(heard) == ["(x.bin is of a kind that WhatsApp does not take.)"]


async def test_a_picture_goes_as_one_and_a_table_as_text(
    platform: WhatsAppPlatform, tmp_path: Path
) -> None:
    kinds = {"a.png": "image/png", "b.csv": "text/csv"}
    for name in kinds:
        (tmp_path / name).write_bytes(b"123")
    files = tuple(Attachment(str(tmp_path / name), kinds[name], name, 3) for name in kinds)
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(replace(answer(heard, ""), files=files))
        assert [one["type"] for one in platform.server.sent] == ["image", "document"]
        assert platform.server.sent[1]["document"]["filename"] == "b.csv"


@pytest.mark.parametrize(
    ("status", "code", "error", "words"),
    [
        (400, 131047, ChannelUnavailable, "within 24 hours.*they have to write to it first"),
        (400, 470, ChannelUnavailable, "within 24 hours"),
        (400, 131026, MessageRefused, "cannot deliver"),
        (400, 100, MessageRefused, "code 100"),
        (401, 190, ChannelRefused, "token_file"),
        (401, 0, ChannelRefused, "token_file"),
        (403, 10, ChannelRefused, "token_file"),
        (403, 200, ChannelRefused, "token_file"),
        (400, 131042, ChannelRefused, "billing"),
        (403, 131031, ChannelRefused, "account quality"),
        (503, 0, ChannelUnavailable, "503"),
        (400, 131000, ChannelUnavailable, "131000"),
    ],
)
async def test_a_refusal_says_what_to_do(
    platform: WhatsAppPlatform, status: int, code: int, error: type[Exception], words: str
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.server.fault = (status, code, 0)
        with pytest.raises(error, match=words):
            await platform.channel.send(answer(heard, "Here."))


@pytest.mark.parametrize(
    ("status", "code", "told_s", "wait_s"),
    [
        (429, 4, 0, 30),
        (400, 131056, 0, 10),
        (429, 131056, 7, 7),
        (400, 131048, 0, 900),
        (429, 0, 999_999, 3600),
    ],
)
async def test_too_often_says_how_long_to_wait(
    platform: WhatsAppPlatform, status: int, code: int, told_s: float, wait_s: float
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.server.fault = (status, code, told_s)
        with pytest.raises(ChannelUnavailable) as caught:
            await platform.channel.send(answer(heard, "Here."))
        assert caught.value.retry_after_s == wait_s


async def test_what_was_taken_and_did_not_arrive_is_logged(
    platform: WhatsAppPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    status = {"id": "wamid.x", "status": "failed", "timestamp": "1", "recipient_id": ANNA}
    late = [{"code": 131047, "title": "Re-engagement message"}]
    delivered = {**status, "status": "delivered"}
    async with listening(platform.channel) as listener:
        told = [delivered, {**status, "errors": late}, 5]
        await platform.server.post(body_of({"statuses": told}))
        assert not listener.heard
    warned = [one.getMessage() for one in caplog.records if "not delivered" in one.getMessage()]
    assert len(warned) == 1
    assert "they have to write to it first" in warned[0]
    assert ANNA not in caplog.text


async def test_marks_and_typing_are_what_the_documentation_has(platform: WhatsAppPlatform) -> None:
    async with listening(platform.channel) as listener:
        known = await platform.server.say("hello")
        [heard] = await listener.first()
        await platform.channel.typing(heard)
        await platform.channel.mark(heard, Mark.DONE)
    read, mark = platform.server.sent
    indicator = {"status": "read", "message_id": known, "typing_indicator": {"type": "text"}}
    assert read == {"type": "read", **indicator}
    assert mark["reaction"] == {"message_id": known, "emoji": "✅"}


async def test_only_who_was_asked_can_press(platform: WhatsAppPlatform) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, QUESTION))
        await wait_until(lambda: platform.shown(heard))
        shown = server.sent[-1]["interactive"]["action"]["buttons"]
        assert [one["reply"]["title"] for one in shown] == ["Yes", "No", "Always"]
        button = {"id": shown[0]["reply"]["id"], "title": "Yes"}
        pressed = {"type": "button_reply", "button_reply": button}
        await server.tell(server.message("interactive", "15551234567", interactive=pressed))
        assert not asking.done()
        assert server.sent[-1]["text"]["body"] == "This question is closed, or not yours to answer."
        await server.say(f"always {QUESTION.question_id}")
        assert await asking is Answer.ALWAYS
        assert len(listener.heard) == 1


async def test_a_long_call_is_shown_whole_or_not_asked(platform: WhatsAppPlatform) -> None:
    long = replace(QUESTION, arguments_json=json.dumps({"text": "x" * 900}))
    endless = replace(QUESTION, arguments_json=json.dumps({"text": "x" * 90_000}))
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, long))
        await wait_until(
            lambda: platform.server.sent and platform.server.sent[-1]["type"] != "text"
        )
        assert long.arguments_json in "".join(platform.shown(heard))
        await platform.press(f"no:{long.question_id}")
        assert await asking is Answer.NO
        assert await platform.channel.ask(heard.address, endless) is Answer.NONE


async def test_who_guesses_the_verify_token_is_not_listened_to_for_long(
    platform: WhatsAppPlatform,
) -> None:
    wrong = "hub.mode=subscribe&hub.verify_token=guessed&hub.challenge=1"
    told = [await platform.server.ask("GET", f"/whatsapp?{wrong}") for _ in range(12)]
    assert [one.status for one in told] == [403] * 10 + [429] * 2


async def test_a_file_that_takes_longer_than_the_platform_waits_is_kept_once(
    platform: WhatsAppPlatform,
) -> None:
    server = platform.server
    server.media["77"] = b"OggS"
    voice = {"id": "77", "mime_type": "audio/ogg; codecs=opus", "voice": True}
    body = body_of({"messages": [server.message("audio", audio=voice)]})
    server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        posting = asyncio.ensure_future(
            server.ask("POST", "/whatsapp", body, server.signature(body))
        )
        await wait_until(lambda: any(one.target.startswith("/files/") for one in server.calls))
        # It has gone before the answer, and comes again while the file is still on its way
        posting.cancel()
        again = asyncio.ensure_future(server.post(body))
        server.may_hand_out.set()
        await again
        [heard] = listener.heard
        assert "no speech service is configured" in heard.notes[0]
        assert [one.media_type for one in heard.attachments] == ["audio/ogg"]
        assert server.answers == [200]


async def test_what_stops_the_agent_does_not_wait_for_a_file(platform: WhatsAppPlatform) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [first] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(first.address, QUESTION))
        await wait_until(lambda: platform.shown(first))
        server.may_hand_out.clear()
        posting = asyncio.ensure_future(platform.write_with_file("look", b"%PDF"))
        await wait_until(lambda: any(one.target.startswith("/files/") for one in server.calls))
        next_one = asyncio.ensure_future(platform.write("and then"))
        await server.say("/stop")
        await platform.answer_question(QUESTION, Answer.YES)
        assert await asking is Answer.YES
        assert [one.text for one in listener.heard] == ["lamp on", "/stop"]
        server.may_hand_out.set()
        await asyncio.gather(posting, next_one)
        assert [one.text for one in listener.heard[2:]] == ["look", "and then"]
        assert len(listener.heard[2].attachments) == 1
        await platform.repeat()
        assert len(listener.heard) == 4
