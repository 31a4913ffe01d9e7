from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.opcodes import gateway
from agent.channels.opcodes.gateway import MOST_FRUITLESS
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient
from tests.contracts.listener import Listener, listening
from tests.fakes import qq_server
from tests.fakes.clock import HastyClock
from tests.fakes.qq_platform import channel_at
from tests.fakes.qq_server import Json, QqServer
from tests.waits import wait_until

HEARTBEAT, IDENTIFY, RESUME = 1, 2, 6


@pytest.fixture
async def server() -> AsyncIterator[QqServer]:
    async with qq_server.running() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


def heard_of(server: QqServer, op: int) -> list[Json]:
    return [one for one in server.said if one["op"] == op]


async def begun(folder: Path) -> None:
    """The session is known here, and on the disk."""
    await wait_until((folder / "qq" / "session.json").exists)


async def heard(listener: Listener, text: str) -> None:
    await wait_until(lambda: text in [one.text for one in listener.heard])


async def test_a_gateway_that_answers_no_heartbeat_is_left_and_the_session_taken_up(
    http: HttpClient, tmp_path: Path
) -> None:
    async with qq_server.running(QqServer(heartbeat_ms=400)) as server:
        async with listening(channel_at(server, http, tmp_path)) as listener:
            await begun(tmp_path)
            server.is_deaf = True
            await wait_until(lambda: heard_of(server, RESUME))
            server.is_deaf = False
            server.write("still there?")
            await heard(listener, "still there?")
        assert server.closed_with[0] == 4000
        assert len(heard_of(server, IDENTIFY)) == 1


async def test_a_heartbeat_is_sent_when_it_is_asked_for(
    server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await begun(tmp_path)
        before = len(heard_of(server, HEARTBEAT))
        await server.say({"op": 1, "d": None})
        await wait_until(lambda: len(heard_of(server, HEARTBEAT)) > before)


async def test_the_gateway_is_told_only_of_what_is_committed(
    http: HttpClient, tmp_path: Path
) -> None:
    async with (
        qq_server.running(QqServer(heartbeat_ms=400)) as server,
        listening(channel_at(server, http, tmp_path)) as listener,
    ):
        await wait_until(lambda: [one["d"] for one in heard_of(server, HEARTBEAT)][-1:] == [1])
        listener.may_keep.clear()
        server.write("not kept yet")
        count = len(heard_of(server, HEARTBEAT))
        await wait_until(lambda: len(heard_of(server, HEARTBEAT)) > count + 1)
        assert heard_of(server, HEARTBEAT)[-1]["d"] == 1
        listener.may_keep.set()
        await wait_until(lambda: heard_of(server, HEARTBEAT)[-1]["d"] == 2)


async def test_a_wish_for_another_connection_loses_nothing(
    server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(tmp_path)
        await server.say({"op": 7, "d": None})
        server.write("meanwhile")
        await heard(listener, "meanwhile")
    assert (len(heard_of(server, IDENTIFY)), len(heard_of(server, RESUME))) == (1, 1)


async def test_one_that_always_wishes_for_another_connection_is_not_asked_in_a_storm(
    server: QqServer, http: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "ANEW_AFTER_S", (777.0, 777.0))
    slept_s: list[float] = []

    class NotedClock(HastyClock):
        async def sleep(self, duration_s: float) -> None:
            slept_s.append(duration_s)
            await super().sleep(0.0 if duration_s == 777.0 else duration_s * 100)

    async with listening(channel_at(server, http, tmp_path, NotedClock())) as listener:
        await begun(tmp_path)
        for number in range(3):
            await server.say({"op": 7, "d": None})
            await wait_until(lambda: len(heard_of(server, RESUME)) == number + 1)  # noqa: B023 - awaited
            await wait_until(lambda: any(one.send for one in server.sessions.values()))
        server.write("after it")
        await heard(listener, "after it")
    # The first at once
    assert slept_s.count(777.0) == 2


@pytest.mark.parametrize("may_again", [True, False])
async def test_a_session_that_is_refused_is_tried_again_or_begun_anew(
    *, may_again: bool, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path, HastyClock())) as listener:
        await begun(tmp_path)
        server.invalidates = may_again
        server.cut()
        wanted = (1, 2) if may_again else (2, 1)
        await wait_until(
            lambda: (len(heard_of(server, IDENTIFY)), len(heard_of(server, RESUME))) == wanted
        )
        await wait_until(lambda: any(one.send for one in server.sessions.values()))
        server.write("after it")
        await heard(listener, "after it")


async def test_one_that_begins_no_session_is_not_asked_in_a_storm(
    server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    server.invalidates = False
    with pytest.raises(ChannelUnavailable, match="starts no session"):
        await channel_at(server, http, tmp_path).listen(Listener().deliver)
    assert len(heard_of(server, IDENTIFY)) == 1


async def test_another_process_goes_on_where_this_one_was(
    server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(tmp_path)
        server.write("one")
        await heard(listener, "one")
    assert server.closed_with == [4000]
    server.write("two")
    server.write("three")
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await heard(listener, "three")
        assert [one.text for one in listener.heard] == ["two", "three"]
    assert len(heard_of(server, IDENTIFY)) == 1


@pytest.mark.parametrize("kept", ["", "[]", '{"account":"another 0","session_id":"s","me":"1"}'])
async def test_a_session_that_is_none_of_ours_is_begun_anew(
    kept: str, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    (tmp_path / "qq").mkdir()
    (tmp_path / "qq" / "session.json").write_text(kept)
    async with listening(channel_at(server, http, tmp_path)):
        await wait_until(lambda: heard_of(server, IDENTIFY))
    assert not heard_of(server, RESUME)


@pytest.mark.parametrize("code", [4006, 4007, 4900])
async def test_a_session_that_is_gone_is_begun_anew(
    code: int, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await begun(tmp_path)
        server.closes_with = code
        server.cut()
        await wait_until(lambda: len(heard_of(server, IDENTIFY)) == 2)


async def test_a_session_that_is_gone_without_a_word_is_begun_anew_after_some_tries(
    server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(tmp_path)
        server.closes_always_with = 9001
        server.cut()
        await wait_until(lambda: len(heard_of(server, RESUME)) == MOST_FRUITLESS)
        await wait_until(lambda: len(heard_of(server, IDENTIFY)) == 2)
        server.closes_always_with = 0
        await wait_until(lambda: any(one.send for one in server.sessions.values()))
        server.write("after it")
        await heard(listener, "after it")


@pytest.mark.parametrize("code", [4008, 4009, 1001, 1011])
async def test_any_other_end_leaves_the_session_where_it_is(
    code: int, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await begun(tmp_path)
        server.closes_with = code
        server.cut()
        await wait_until(lambda: len(heard_of(server, RESUME)) == 2)
    assert len(heard_of(server, IDENTIFY)) == 1


@pytest.mark.parametrize(
    ("code", "clue"),
    [
        (4001, "update"),
        (4011, "more guilds"),
        (4014, "switched on"),
        (4914, "sandbox"),
        (4915, "banned"),
    ],
)
async def test_an_end_for_good_says_what_to_do(
    code: int, clue: str, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    server.closes_with = code
    with pytest.raises(ChannelRefused, match=clue):
        await channel_at(server, http, tmp_path).listen(Listener().deliver)


@pytest.mark.parametrize("said", ["no JSON", '{"op":"zero"}', "[]"])
async def test_a_gateway_that_says_nothing_readable_is_left(
    said: str, server: QqServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await begun(tmp_path)
        for connection in [*server.open]:
            await connection.send(said)
        await wait_until(lambda: heard_of(server, RESUME))


async def test_more_than_can_be_kept_is_asked_for_again(
    server: QqServer, http: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "MAX_WAITING", 5)
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(tmp_path)
        listener.may_keep.clear()
        texts = [f"number {number}" for number in range(12)]
        for text in texts:
            server.write(text)
        # Both come after it; a heartbeat may go by itself meanwhile, but not two
        [session] = server.sessions.values()
        before = len(heard_of(server, HEARTBEAT))
        for _ in range(2):
            session.send({"op": 1, "d": None})
        await wait_until(lambda: len(heard_of(server, HEARTBEAT)) >= before + 2)
        listener.may_keep.set()
        await heard(listener, texts[-1])
        assert [one.text for one in listener.heard] == texts
        assert heard_of(server, RESUME)
