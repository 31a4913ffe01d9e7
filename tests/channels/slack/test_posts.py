"""An answer whose receipt was lost is looked for before it is sent again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import ChannelUnavailable
from agent.messages import Outbound
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import slack_server
from tests.fakes.slack_platform import SlackPlatform
from tests.fakes.slack_server import Fault, SlackServer
from tests.fakes.slack_world import DM
from tests.waits import wait_until

LOOKS = {"conversations.history", "conversations.replies"}


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[SlackPlatform]:
    http = HttpClient()
    async with slack_server.running() as server:
        yield SlackPlatform(server, http, tmp_path)
        await http.aclose()


def looks(server: SlackServer) -> int:
    return len([1 for method, _ in server.calls if method in LOOKS])


async def answered(platform: SlackPlatform, *, in_thread: bool = False) -> Outbound:
    """What is to be sent in answer to a message."""
    async with listening(platform.channel) as listener:
        if in_thread:
            await platform.write_in_thread("what time is it?")
        else:
            await platform.write("what time is it?")
        [heard] = await listener.first()
        return answer(heard, "It is noon.")


async def test_a_plain_answer_is_looked_for_nowhere(platform: SlackPlatform) -> None:
    message = await answered(platform)
    await platform.channel.send(message)
    await platform.channel.send(replace(message, outbox_id=message.outbox_id + 1))
    assert len(platform.server.world.mine()) == 2
    assert looks(platform.server) == 0


@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_answer_whose_receipt_was_lost_comes_once(
    platform: SlackPlatform, *, in_thread: bool
) -> None:
    server = platform.server
    message = await answered(platform, in_thread=in_thread)
    server.faults.append(Fault("chat.postMessage", html=502, is_late=True))
    with pytest.raises(ChannelUnavailable):
        await platform.channel.send(message)
    await platform.channel.send(message)
    assert len(server.world.mine()) == 1
    assert looks(server) == 1
    # The same words to another message are another answer
    await platform.channel.send(replace(message, outbox_id=message.outbox_id + 1))
    assert len(server.world.mine()) == 2


async def test_an_answer_that_did_not_arrive_is_sent_again(platform: SlackPlatform) -> None:
    server = platform.server
    message = await answered(platform)
    server.faults.append(Fault("chat.postMessage", html=502))
    with pytest.raises(ChannelUnavailable):
        await platform.channel.send(message)
    await platform.channel.send(message)
    assert len(server.world.mine()) == 1
    assert looks(server) == 1


async def test_who_was_asked_to_wait_looks_for_nothing(platform: SlackPlatform) -> None:
    server = platform.server
    message = await answered(platform)
    server.faults.append(Fault("chat.postMessage", retry_after_s=1))
    with pytest.raises(ChannelUnavailable):
        await platform.channel.send(message)
    await platform.channel.send(message)
    assert len(server.world.mine()) == 1
    assert looks(server) == 0


@pytest.mark.parametrize("is_asked_for", [False, True])
async def test_what_an_earlier_run_left_comes_once(
    platform: SlackPlatform, *, is_asked_for: bool
) -> None:
    server = platform.server
    message = await answered(platform)
    if not is_asked_for:
        message = Outbound(7, "slack", DM, "the pump is dry", "")
    await platform.channel.send(message)
    again = platform.restarted()
    await again.send(replace(message, was_left=True))
    assert len(server.world.mine()) == 1
    # What was left and not sent goes
    await again.send(replace(message, outbox_id=message.outbox_id + 1, was_left=True))
    assert len(server.world.mine()) == 2
    assert looks(server) == 2


@pytest.mark.parametrize("code", ["missing_scope", "not_in_channel"])
async def test_where_nothing_may_be_looked_at_the_answer_goes_all_the_same(
    platform: SlackPlatform, code: str
) -> None:
    message = await answered(platform)
    platform.server.faults.append(Fault("conversations.history", code=code))
    await platform.channel.send(replace(message, was_left=True))
    assert len(platform.server.world.mine()) == 1


async def test_a_try_that_is_broken_off_is_looked_for(platform: SlackPlatform) -> None:
    message = await answered(platform)
    platform.server.may_answer.clear()
    sending = asyncio.ensure_future(platform.channel.send(message))
    await wait_until(lambda: platform.server.called("chat.postMessage"))
    sending.cancel()
    await asyncio.wait([sending])
    platform.server.may_answer.set()
    await platform.channel.send(message)
    assert len(platform.server.world.mine()) == 1


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_draft_whose_receipt_was_lost_becomes_the_answer(
    platform: SlackPlatform, *, is_killed: bool
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("what time is it?")
        [heard] = await listener.first()
    server.faults.append(Fault("chat.postMessage", html=502, is_late=True))
    await platform.channel.draft(heard, "It is")
    await wait_until(server.world.mine)
    channel = platform.restarted() if is_killed else platform.channel
    await channel.send(answer(heard, "It is noon."))
    assert platform.shown(heard) == ["It is noon."]
    assert looks(server) == 1


async def test_a_draft_goes_on_where_an_earlier_run_may_have_begun_it(
    platform: SlackPlatform,
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("what time is it?")
        [heard] = await listener.first()
    server.faults.append(Fault("chat.postMessage", html=502, is_late=True))
    await platform.channel.draft(heard, "It")
    await wait_until(server.world.mine)
    channel = platform.restarted()
    await channel.draft(heard, "It is")
    await wait_until(lambda: platform.shown(heard) == ["It is"])
    await channel.send(answer(heard, "It is noon."))
    assert platform.shown(heard) == ["It is noon."]
