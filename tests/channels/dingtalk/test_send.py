import asyncio
import io
import json
import zipfile
from typing import Any

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Question
from agent.channels.dingtalk import send
from agent.channels.dingtalk.client import REFRESH_EARLY_S, DingTalkApi
from agent.channels.dingtalk.send import HOOK_SPARE_S
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Outbound
from tests.channels.dingtalk.conftest import World
from tests.contracts.listener import answer, listening
from tests.fakes.clock import SteppedClock
from tests.fakes.dingtalk_server import (
    ANNA,
    BEN,
    CLIENT_ID,
    DM,
    HOOK_LASTS_S,
    ROOM,
    SECRET,
    Fault,
)
from tests.waits import wait_until

TO_ANNA, TO_ROOM = f"user:{ANNA}", f"group:{ROOM}"
DENIED = "Forbidden.AccessDenied"


def to(target: str, text: str, number: int = 1, **more: Any) -> Outbound:
    return Outbound(number, "dingtalk", target, text, "", **more)


async def test_a_message_is_answered_at_its_own_address_and_later_by_the_robot(
    world: World,
) -> None:
    clock = SteppedClock()
    channel = world.channel(clock=clock)
    async with listening(channel) as listener:
        await world.connected()
        await world.server.say(ANNA, DM, "hello")
        await world.server.say(ANNA, ROOM, " hello")
        private, in_room = await listener.first(2)
        assert (private.reply_target, in_room.reply_target) == (TO_ANNA, TO_ROOM)
        assert private.sender == in_room.sender == ANNA
        await channel.send(answer(private, "**one**", 1))
        clock.advance(HOOK_LASTS_S - HOOK_SPARE_S)
        await channel.send(answer(private, "two", 2))
        await channel.send(answer(in_room, "**three**", 3))
    sent = [(one.way, one.where, one.kind, one.text) for one in world.server.messages]
    assert sent == [
        ("hook", DM, "markdown", "one"),
        ("user", ANNA, "sampleText", "two"),
        ("group", ROOM, "sampleMarkdown", "three"),
    ]


async def test_an_address_that_has_ended_early_costs_no_answer(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await world.connected()
        await world.server.say(ANNA, DM, "hello")
        [heard] = await listener.first()
        world.server.end_hooks()
        for number in (1, 2):
            await channel.send(answer(heard, "here", number))
        assert [one.way for one in world.server.messages] == ["user", "user"]
        assert len(world.server.called("sendBySession")) == 1
        await world.server.say(ANNA, DM, "hello again")
        [_, heard] = await listener.first(2)
        world.server.faults.append(Fault("sendBySession", 403, {"code": f"{DENIED}.Session"}))
        await channel.send(answer(heard, "here", 3))
    assert len(world.server.messages) == 3


async def test_pictures_and_documents_go_as_they_are_and_anything_else_packed(
    world: World,
) -> None:
    channel = world.channel()
    for number, (name, kind) in enumerate(
        [("lamp.png", "image/png"), ("report.pdf", "application/pdf"), ("log.csv", "text/csv")]
    ):
        path = world.folder / name
        path.write_bytes(name.encode())
        file = Attachment(str(path), kind, name, len(name))
        await channel.send(to(TO_ROOM, "", number + 1, files=(file,)))
    picture, report, log = world.server.messages
    assert picture.kind == "sampleImageMsg"
    assert world.server.uploads[picture.told["photoURL"]] == ("lamp.png", b"lamp.png")
    assert (report.kind, report.told["fileType"]) == ("sampleFile", "pdf")
    assert (log.told["fileName"], log.told["fileType"]) == ("log.csv.zip", "zip")
    name, content = world.server.uploads[log.told["mediaId"]]
    assert name == "log.csv.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.read("log.csv") == b"log.csv"
    assert [*(world.folder / "dingtalk").iterdir()] == []


async def test_a_file_that_the_platform_does_not_take_is_told_of(world: World) -> None:
    path = world.folder / "chart"
    path.write_bytes(b"not a picture")
    file = Attachment(str(path), "image/png", "chart", 13)
    world.server.faults.append(Fault("media/upload", 200, {"errcode": 40004, "errmsg": "no"}))
    await world.channel().send(to(TO_ROOM, "", files=(file,)))
    await world.channel().send(to(TO_ROOM, "", 2, files=(file,)))
    told, picture = world.server.messages
    assert told.text == "(chart.png is of a kind that DingTalk does not take.)"
    assert world.server.uploads[picture.told["photoURL"]][0] == "chart.png"


async def test_what_is_too_large_when_it_is_packed_is_told_of(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "MAX_FILE_BYTES", 100)
    path = world.folder / "noise.bin"
    path.write_bytes(bytes(range(99)))
    file = Attachment(str(path), "application/octet-stream", "noise.bin", 99)
    await world.channel().send(to(TO_ROOM, "", files=(file,)))
    [told] = world.server.messages
    assert told.text.startswith("(noise.bin.zip is larger than")
    assert not world.server.uploads


async def test_a_token_is_renewed_before_its_end_and_when_it_is_refused(world: World) -> None:
    clock = SteppedClock()
    channel = world.channel(clock=clock)
    path = world.folder / "report.pdf"
    path.write_bytes(b"%PDF")
    file = Attachment(str(path), "application/pdf", "report.pdf", 4)
    await channel.send(to(TO_ANNA, "one", 1))
    clock.advance(7200 - REFRESH_EARLY_S - 1)
    await channel.send(to(TO_ANNA, "two", 2))
    assert len(world.server.tokens) == 1
    clock.advance(2)
    await channel.send(to(TO_ANNA, "three", 3))
    assert len(world.server.tokens) == 2
    world.server.tokens.append("another")
    await channel.send(to(TO_ANNA, "four", 4))
    world.server.tokens.append("and another")
    await channel.send(to(TO_ANNA, "five", 5, files=(file,)))
    assert [one.text for one in world.server.messages if one.text] == [
        *("one", "two", "three", "four", "five")
    ]
    assert len(world.server.tokens) == 6


@pytest.mark.parametrize(
    ("status", "told", "kind", "wait_s"),
    [
        (
            403,
            {"code": f"{DENIED}.QpsLimitForAppkeyAndApi", "message": "每秒"},
            ChannelUnavailable,
            1,
        ),
        (200, {"errcode": 130101, "errmsg": "send too fast"}, ChannelUnavailable, 60),
        (200, {"errcode": 88, "sub_code": "90018"}, ChannelUnavailable, 1),
        (200, {"status": 1111, "wait": 5, "punish": "deny"}, ChannelUnavailable, 300),
        (429, {}, ChannelUnavailable, 5),
        (500, {"code": "unknownError"}, ChannelUnavailable, 0),
        (502, {}, ChannelUnavailable, 0),
        (403, {"code": f"{DENIED}.ApiCountLimitForOrg"}, ChannelRefused, 0),
        (403, {"code": f"{DENIED}.AccessTokenPermissionDenied"}, ChannelRefused, 0),
        (400, {"code": "group.disbanded", "message": "gone"}, MessageRefused, 0),
    ],
)
async def test_a_refusal_says_what_is_to_be_done(
    world: World, status: int, told: Any, kind: type[Exception], wait_s: float
) -> None:
    world.server.faults.append(Fault("groupMessages", status, told))
    with pytest.raises(kind) as caught:
        await world.channel().send(to(TO_ROOM, "here"))
    if isinstance(caught.value, ChannelUnavailable):
        assert (caught.value.retry_after_s or 0) == wait_s


async def test_a_person_who_cannot_be_written_to_is_refused_and_one_who_may_later_is_not(
    world: World,
) -> None:
    channel = world.channel()
    with pytest.raises(MessageRefused, match="this person"):
        await channel.send(to("user:nobody", "here"))
    told = {"processQueryKey": "k", "flowControlledStaffIdList": [ANNA]}
    world.server.faults.append(Fault("batchSend", 200, told))
    with pytest.raises(ChannelUnavailable, match="now"):
        await channel.send(to(TO_ANNA, "here"))
    await channel.send(to(TO_ANNA, "here"))
    assert [one.text for one in world.server.messages] == ["here"]


async def test_a_question_is_put_sign_by_sign_and_only_who_was_asked_answers(
    world: World,
) -> None:
    channel = world.channel()
    question = Question("shell_run", '{"command":"echo **x** _y_"}', "it runs a program")
    async with listening(channel) as listener:
        await world.connected()
        await world.server.say(ANNA, ROOM, " run it")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(channel.ask(heard.address, question))
        await wait_until(lambda: world.server.messages)
        assert "echo **x** _y_" in world.server.messages[0].text
        await world.server.say(BEN, ROOM, f" yes {question.question_id}")
        await listener.first(2)
        assert not asking.done()
        await world.server.say(ANNA, ROOM, f" yes {question.question_id}")
        assert await asking is Answer.YES
        too_long = replace(question, arguments_json=json.dumps({"text": "x" * 20_000}))
        assert await channel.ask(heard.address, too_long) is Answer.NONE


async def test_no_address_without_tls_is_used_where_the_platform_has_it(world: World) -> None:
    api = DingTalkApi(
        CLIENT_ID, Secret(SECRET), "https://api.dingtalk.com", world.http, SteppedClock()
    )
    with pytest.raises(ChannelUnavailable, match="no usable address"):
        await api.answer(f"{world.server.url}/robot/sendBySession?session=x", {})
    assert not world.server.calls


async def test_a_wrong_secret_is_told_with_the_fix_and_not_repeated(world: World) -> None:
    wrong = "wrong-secret-of-the-tests"
    api = DingTalkApi(CLIENT_ID, Secret(wrong), world.server.url, world.http, SteppedClock())
    for call in (api.endpoint, api.check):
        with pytest.raises(ChannelRefused, match="client_secret") as caught:
            await call()
        assert wrong not in str(caught.value)


@pytest.mark.parametrize("path", ["connections/open", "oauth2/accessToken"])
async def test_whatever_keeps_the_app_out_is_for_a_person(world: World, path: str) -> None:
    told = {"code": "invalidParameter.clientId", "message": "no such app"}
    api = DingTalkApi(CLIENT_ID, Secret(SECRET), world.server.url, world.http, SteppedClock())
    call = api.endpoint if "open" in path else api.check
    world.server.faults.append(Fault(path, 400, told))
    with pytest.raises(ChannelRefused, match="Stream mode"):
        await call()
    world.server.faults.append(Fault(path, 503, {}))
    with pytest.raises(ChannelUnavailable):
        await call()
    await call()
