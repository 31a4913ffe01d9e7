"""Slack by the Events API: what is forged, old, repeated, slow, or none of Slack's."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from agent.channels.base import Answer, Question
from agent.channels.slack.events_api import REPLAY_WINDOW_S
from agent.errors import ChannelRefused, StorageFull
from agent.gateway.request import BODY_TIMEOUT_S
from tests.contracts.listener import Listener, answer, listening
from tests.fakes.slack_platform import CALLED
from tests.fakes.slack_posted_platform import SlackPostedPlatform, running
from tests.fakes.slack_poster import FORM, PATIENCE_S, signed
from tests.fakes.slack_server import Fault
from tests.fakes.slack_world import ANNA, BERT, DM, ROOM, Json, event_call
from tests.waits import stays, wait_until

CHALLENGE = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
QUESTION = Question("lamp", '{"pin":"led"}', "it moves something")
COUNT = itertools.count(1)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[SlackPostedPlatform]:
    async with running(tmp_path) as made:
        yield made


@contextlib.asynccontextmanager
async def taking(platform: SlackPostedPlatform) -> AsyncIterator[Listener]:
    """At work: Slack's first posts may have come too early."""
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        await wait_until(lambda: not platform.server.world.waiting)
        listener.heard.clear()
        yield listener


def letter(text: str = "lamp on") -> Json:
    ts = f"1790000000.{next(COUNT):06d}"
    event = {"type": "message", "channel": DM, "user": ANNA, "text": text, "ts": ts}
    return event_call({**event, "channel_type": "im"})


def slash(text: str, **more: str) -> bytes:
    told = {"command": "/barnacle", "text": text, "user_id": ANNA, "channel_id": DM}
    return urlencode({**told, "trigger_id": "13345224609.738474920.8088930838d8", **more}).encode()


async def test_the_challenge_comes_back_word_for_word_also_while_nobody_listens(
    platform: SlackPostedPlatform,
) -> None:
    asked = {"token": "-", "challenge": CHALLENGE, "type": "url_verification"}
    told = await platform.poster.say(asked)
    assert (told.status, told.said) == (200, CHALLENGE)
    assert told.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("challenge", ["", "<script>", "x" * 301, "a b", "ä", 5])
async def test_what_is_no_challenge_does_not_come_back(
    platform: SlackPostedPlatform, challenge: object
) -> None:
    told = await platform.poster.say({"challenge": challenge, "type": "url_verification"})
    assert (told.status, told.said) == (200, "")


async def test_nobody_gets_a_challenge_back_who_does_not_sign(
    platform: SlackPostedPlatform,
) -> None:
    body = json.dumps({"challenge": CHALLENGE, "type": "url_verification"}).encode()
    told = await platform.poster.post(body, signed(body, "another-secret"))
    assert told.status == 401
    assert CHALLENGE not in told.said


async def test_what_is_not_signed_over_its_bytes_is_heard_by_nobody(
    platform: SlackPostedPlatform,
) -> None:
    body, spaced = (json.dumps(letter(), separators=one).encode() for one in [(",", ":"), None])
    right = signed(body)
    told = right["x-slack-signature"]
    forged: list[tuple[bytes, Json]] = [
        (spaced, right),
        (body + b" ", right),
        (body, signed(body, "another-secret")),
        (body, {**right, "x-slack-signature": told[:-1] + ("0" if told[-1] != "0" else "1")}),
        (body, {**right, "x-slack-signature": told.upper()}),
        (body, {**right, "x-slack-signature": told.replace("v0=", "v1=")}),
        (body, {**right, "x-slack-request-timestamp": str(int(time.time()) - 3)}),
    ]
    async with taking(platform) as listener:
        for sent, headers in forged:
            assert (await platform.poster.post(sent, headers)).status == 401
        assert listener.heard == []
        assert (await platform.poster.post(body, right)).status == 200
        assert [one.text for one in listener.heard] == ["lamp on"]


@pytest.mark.parametrize("ago_s", [REPLAY_WINDOW_S + 5, -REPLAY_WINDOW_S - 5])
async def test_what_was_signed_too_long_ago_or_ahead_is_refused(
    platform: SlackPostedPlatform, ago_s: float
) -> None:
    body = json.dumps(letter()).encode()
    async with taking(platform) as listener:
        assert (await platform.poster.post(body, signed(body, ago_s=ago_s))).status == 401
        assert listener.heard == []


@pytest.mark.parametrize("missing", ["x-slack-request-timestamp", "x-slack-signature"])
async def test_without_a_header_of_the_signature_no_body_is_read(
    platform: SlackPostedPlatform, missing: str
) -> None:
    headers = {**signed(b""), "content-length": "1000"}
    del headers[missing]
    begun_s = time.monotonic()
    # The body never comes: who waits for it does not answer at once
    assert (await platform.poster.post(b"", headers)).status == 401
    assert time.monotonic() - begun_s < BODY_TIMEOUT_S / 2


@pytest.mark.parametrize("time_told", ["", "soon", "-5", "1e9", "٣", "9" * 13, "1790000000.5"])
async def test_what_is_no_time_is_refused(platform: SlackPostedPlatform, time_told: str) -> None:
    told = {**signed(b"{}"), "x-slack-request-timestamp": time_told}
    headers = {name: text.encode().decode("latin-1") for name, text in told.items()}
    assert (await platform.poster.post(b"{}", headers)).status == 401


async def test_who_forges_is_not_listened_to_for_long(platform: SlackPostedPlatform) -> None:
    told = [await platform.poster.post(b"{}", {}) for _ in range(12)]
    assert [one.status for one in told] == [401] * 10 + [429] * 2


async def test_an_event_is_answered_in_time_and_only_when_it_is_kept(
    platform: SlackPostedPlatform,
) -> None:
    async with taking(platform) as listener:
        listener.may_keep.clear()
        begun_s = time.monotonic()
        posting = asyncio.ensure_future(platform.poster.say(letter()))
        await stays(lambda: not posting.done(), 0.05)
        listener.may_keep.set()
        assert (await posting).status == 200
        assert time.monotonic() - begun_s < PATIENCE_S
        assert len(listener.heard) == 1


async def test_what_comes_again_is_heard_once_also_after_a_restart(
    platform: SlackPostedPlatform,
) -> None:
    told = letter()
    retried = {"x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout"}
    async with taking(platform) as listener:
        answers = await asyncio.gather(*(platform.poster.say(told, **retried) for _ in range(5)))
        assert {one.status for one in answers} == {200}
        assert len(listener.heard) == 1
    platform.channel = platform.restarted()
    async with taking(platform) as listener:
        assert (await platform.poster.say(told, **retried)).status == 200
        assert listener.heard == []


async def test_what_was_not_kept_is_no_result(platform: SlackPostedPlatform) -> None:
    told = letter()
    async with taking(platform) as listener:
        listener.trouble = StorageFull("no room")
        refused = await platform.poster.say(told)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        listener.trouble = None
        assert (await platform.poster.say(told)).status == 200
        assert [one.text for one in listener.heard] == ["lamp on"]


async def test_while_nobody_listens_slack_is_asked_to_come_again(
    platform: SlackPostedPlatform,
) -> None:
    assert (await platform.poster.say(letter())).status == 503
    body = slash("status")
    assert (await platform.poster.post(body, signed(body, kind=FORM))).status == 503


async def test_an_app_that_slack_does_not_know_is_said_and_takes_nothing(
    platform: SlackPostedPlatform,
) -> None:
    platform.server.faults.append(Fault(r"auth\.test", code="invalid_auth"))
    with pytest.raises(ChannelRefused, match=r"channels\.slack\.token"):
        await platform.channel.listen(lambda _: asyncio.sleep(0))
    assert (await platform.poster.say(letter())).status == 503


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"type": 3}',
        b'{"type":"event_callback"}',
        b'{"type":"event_callback","event_id":"Ev1","event":[]}',
        b'{"type":"event_callback","event_id":"Ev 1","event":{"type":"message"}}',
        b'{"type":"something_new"}',
    ],
)
@pytest.mark.parametrize("kind", ["application/json", FORM, "", "text/html"])
async def test_what_nobody_can_read_does_not_come_again(
    platform: SlackPostedPlatform, body: bytes, kind: str
) -> None:
    async with taking(platform) as listener:
        told = await platform.poster.post(body, signed(body, kind=kind))
        assert (told.status, told.said) == (200, "")
        assert listener.heard == []


async def test_slack_says_that_it_holds_back_and_it_is_logged(
    platform: SlackPostedPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    held = {"type": "app_rate_limited", "minute_rate_limited": 1_790_000_000, "team_id": "T0"}
    assert (await platform.poster.say(held)).status == 200
    assert [one.levelname for one in caplog.records if "holds back" in one.message] == ["WARNING"]


async def test_a_slash_command_is_heard_once_and_nothing_is_shown_for_it(
    platform: SlackPostedPlatform,
) -> None:
    async with taking(platform) as listener:
        body = slash("status")
        for _ in range(2):
            told = await platform.poster.post(body, signed(body, kind=f"{FORM}; charset=utf-8"))
            assert (told.status, told.said) == (200, "")
        assert [one.text for one in listener.heard] == ["/status"]
        await platform.channel.send(answer(listener.heard[-1], "All is well."))
        assert platform.shown(listener.heard[-1]) == ["All is well."]


@pytest.mark.parametrize("more", [{"trigger_id": ""}, {"trigger_id": "a b"}, {"user_id": "u 1"}])
async def test_a_command_of_nobody_is_none(
    platform: SlackPostedPlatform, more: dict[str, str]
) -> None:
    async with taking(platform) as listener:
        body = slash("status", **more)
        assert (await platform.poster.post(body, signed(body, kind=FORM))).status == 200
        assert listener.heard == []


async def test_a_mention_that_comes_as_two_events_is_heard_once(
    platform: SlackPostedPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        event = platform.server.world.post(ROOM, ANNA, f"{CALLED} hello")
        twin = {**event, "type": "app_mention"}
        del twin["channel_type"]
        platform.server.world.tell("events_api", {**event_call(twin), "event_id": "Ev0TWIN"})
        await platform.write("next")
        await wait_until(lambda: listener.heard and listener.heard[-1].text == "next")
        assert [one.text for one in listener.heard] == ["hello", "next"]


async def test_a_button_is_nobody_elses(platform: SlackPostedPlatform) -> None:
    world = platform.server.world
    async with listening(platform.channel) as listener:
        await platform.write("lamp on", is_group=True)
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, QUESTION))
        await wait_until(platform.asked)
        [asked] = platform.asked()
        world.press(asked, "Yes", BERT)
        await wait_until(lambda: world.whispers)
        assert world.whispers[0]["user"] == BERT
        assert not asking.done()
        world.press(asked, "No")
        assert await asking is Answer.NO


async def test_files_of_strangers_are_not_fetched(platform: SlackPostedPlatform) -> None:
    platform.knows = False
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"x")
        [heard] = await listener.first()
        assert (heard.text, heard.notes) == (
            "look",
            ("I did not fetch a file: only of people with access I keep files.",),
        )


async def test_what_stops_the_agent_does_not_wait_for_a_file(
    platform: SlackPostedPlatform,
) -> None:
    server = platform.server
    server.may_hand_out.clear()
    async with taking(platform) as listener:
        await platform.write_with_file("look", b"%PDF")
        await platform.write("and then")
        await platform.write("/stop")
        body = slash("estop")
        await wait_until(lambda: listener.heard)
        assert (await platform.poster.post(body, signed(body, kind=FORM))).status == 200
        assert [one.text for one in listener.heard] == ["/stop", "/estop"]
        server.may_hand_out.set()
        heard = await listener.first(4)
        assert [one.text for one in heard[2:]] == ["look", "and then"]
        assert len(heard[2].attachments) == 1
        await wait_until(lambda: not server.world.waiting)


async def test_a_file_that_takes_longer_than_slack_waits_is_kept_once(
    platform: SlackPostedPlatform,
) -> None:
    server, poster = platform.server, platform.poster
    server.may_hand_out.clear()
    async with taking(platform) as listener:
        poster.answers.clear()
        await platform.write_with_file("look", b"%PDF")
        # It has gone before the answer, and comes again while the file is still on its way
        await wait_until(lambda: poster.answers == [0])
        server.may_hand_out.set()
        await wait_until(lambda: poster.answers[-1] == 200)
        [heard] = listener.heard
        assert len(heard.attachments) == 1
        assert any(headers.get("x-slack-retry-num") == "1" for headers, _ in poster.posted)
