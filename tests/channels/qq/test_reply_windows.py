"""What may be answered how often and for how long, and what becomes of all the rest."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.channels.qq.channel import QqChannel
from agent.channels.qq.reply_windows import (
    MAX_MESSAGES,
    MAX_PLACES,
    MAX_REPLIES,
    WINDOW_S,
    QqWindows,
)
from agent.errors import ChannelUnavailable
from agent.messages import Attachment, Inbound
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import qq_server
from tests.fakes.clock import SteppedClock
from tests.fakes.qq_platform import channel_at
from tests.fakes.qq_server import ANNA, ROOM, Fault, QqServer
from tests.waits import wait_until

PLACE = f"user:{ANNA}"
WORDS = st.sampled_from([f"{number}. words" for number in range(9)])


@dataclass
class World:
    server: QqServer
    http: HttpClient
    folder: Path
    clock: SteppedClock

    def channel(self) -> QqChannel:
        """Another one each time, as after a restart."""
        return channel_at(self.server, self.http, self.folder, self.clock)

    async def heard(self, text: str, *, is_group: bool = False) -> Inbound:
        """Somebody writes it, and a channel at work hears it."""
        async with listening(channel_at(self.server, self.http, self.folder)) as listener:
            await wait_until(lambda: self.server.open and self.server.sessions)
            write = self.server.write_in_room if is_group else self.server.write
            write(text)
            await wait_until(lambda: any(one.text == text for one in listener.heard))
            return next(one for one in listener.heard if one.text == text)

    @property
    def shown(self) -> list[tuple[str, str, int]]:
        return [
            (one.get("content", "a file"), one["msg_id"], one["msg_seq"])
            for one in self.server.messages
        ]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    http = HttpClient()
    async with qq_server.running() as server:
        yield World(server, http, tmp_path, SteppedClock(wall_s=1_795_000_000.0))
        await http.aclose()


async def opened(world: World, text: str = "hello", *, is_group: bool = False) -> Inbound:
    """A message that was heard at the test's own time."""
    inbound = await world.heard(text, is_group=is_group)
    (world.folder / "qq" / "windows.json").unlink()
    await world.channel()._sending._windows.open(inbound.reply_target, inbound.message_id)
    return inbound


async def test_what_is_too_much_for_one_message_waits_for_the_next(world: World) -> None:
    first = await opened(world)
    channel = world.channel()
    for number in range(1, 6):
        assert channel.attends(answer(first, "any", number))
        await channel.send(answer(first, f"no {number}", number))
    waiting = answer(first, "no 6", 6)
    assert not channel.attends(waiting)
    with pytest.raises(ChannelUnavailable, match="waits until"):
        await channel.send(waiting)
    assert len(world.server.called("POST", "/messages")) == 5
    second = world.server.write("more")["d"]["id"]
    await channel._sending._windows.open(PLACE, second)
    assert channel.attends(waiting)
    await channel.send(waiting)
    assert world.shown[-1] == ("no 6", second, 1)
    assert [one[2] for one in world.shown[:5]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("is_group", [False, True])
async def test_what_is_too_late_waits(*, is_group: bool, world: World) -> None:
    inbound = await opened(world, is_group=is_group)
    channel = world.channel()
    world.clock.advance(WINDOW_S["group" if is_group else "user"] - 1)
    assert channel.attends(answer(inbound, "any"))
    world.clock.advance(1)
    assert not channel.attends(answer(inbound, "any"))
    with pytest.raises(ChannelUnavailable):
        await channel.send(answer(inbound, "late"))
    assert not world.server.called("POST", "/messages")


async def test_a_message_is_answered_before_others_are_used_for_it(world: World) -> None:
    first = await opened(world, "one")
    channel = world.channel()
    second = world.server.write("two")["d"]["id"]
    await channel._sending._windows.open(PLACE, second)
    await channel.send(replace(answer(first, "to two", 1), in_reply_to=second))
    await channel.send(replace(answer(first, "to nothing", 2), in_reply_to=""))
    assert [one[1] for one in world.shown] == [second, first.message_id]


async def test_nothing_goes_where_nobody_has_written(world: World) -> None:
    inbound = await opened(world)
    other = replace(answer(inbound, "any"), recipient=f"group:{ROOM}")
    assert not world.channel().attends(other)


async def test_what_comes_again_is_answered_no_more_often(world: World) -> None:
    inbound = await opened(world)
    channel = world.channel()
    for number in range(1, 6):
        await channel.send(answer(inbound, f"no {number}", number))
    await channel._sending._windows.open(PLACE, inbound.message_id)
    assert not channel.attends(answer(inbound, "no 6", 6))


async def test_a_restart_uses_no_number_twice_and_says_nothing_twice(world: World) -> None:
    inbound = await opened(world)
    await world.channel().send(answer(inbound, "one", 1))
    # The one before ended before it could say that it was sent
    await world.channel().send(answer(inbound, "one", 1))
    await world.channel().send(answer(inbound, "two", 2))
    assert [(one[0], one[2]) for one in world.shown] == [("one", 1), ("two", 2)]


async def test_what_was_taken_without_a_word_of_it_is_not_said_again(world: World) -> None:
    inbound = await opened(world)
    world.server.faults.append(Fault("/messages", cuts=True, acts=True))
    with pytest.raises(ChannelUnavailable):
        await world.channel().send(answer(inbound, "one", 1))
    await world.channel().send(answer(inbound, "one", 1))
    await world.channel().send(answer(inbound, "two", 2))
    assert [(one[0], one[2]) for one in world.shown] == [("one", 1), ("two", 2)]


async def test_the_fifth_may_be_tried_again(world: World) -> None:
    inbound = await opened(world)
    channel = world.channel()
    for number in range(1, 5):
        await channel.send(answer(inbound, f"no {number}", number))
    world.server.faults.append(Fault("/messages", 502))
    with pytest.raises(ChannelUnavailable, match="trouble"):
        await channel.send(answer(inbound, "no 5", 5))
    assert channel.attends(answer(inbound, "no 5", 5))
    assert not channel.attends(answer(inbound, "no 6", 6))
    await channel.send(answer(inbound, "no 5", 5))
    assert len(world.shown) == 5


async def test_what_is_kept_nowhere_and_does_not_go_holds_no_place_open(world: World) -> None:
    inbound = await opened(world)
    channel = world.channel()
    for number in range(1, 5):
        await channel.send(answer(inbound, f"no {number}", number))
    world.server.faults.append(Fault("/messages", 502))
    with pytest.raises(ChannelUnavailable):
        await channel.send(answer(inbound, "a notice", 0))
    assert not channel.attends(answer(inbound, "another", 0))


async def test_a_number_that_was_used_and_forgotten_is_passed_over(world: World) -> None:
    inbound = await opened(world)
    await world.channel().send(answer(inbound, "one", 1))
    (world.folder / "qq" / "windows.json").unlink()
    await world.channel()._sending._windows.open(PLACE, inbound.message_id)
    await world.channel().send(answer(inbound, "two", 2))
    assert [(one[0], one[2]) for one in world.shown] == [("one", 1), ("two", 2)]


async def test_the_same_number_of_ours_with_other_words_is_another_answer(world: World) -> None:
    inbound = await opened(world)
    await world.channel().send(answer(inbound, "one", 1))
    await world.channel().send(answer(inbound, "of a new journal", 1))
    assert [one[0] for one in world.shown] == ["one", "of a new journal"]


async def test_the_platform_knows_better_how_long_a_message_is_open(world: World) -> None:
    first = await opened(world, "one")
    channel = world.channel()
    second = world.server.write("two")["d"]["id"]
    await channel._sending._windows.open(PLACE, second)
    world.server.closed.add(first.message_id)
    await channel.send(answer(first, "goes by the other", 1))
    assert world.shown == [("goes by the other", second, 1)]
    world.server.closed.add(second)
    with pytest.raises(ChannelUnavailable, match="waits until"):
        await channel.send(answer(first, "waits", 2))
    assert not channel.attends(answer(first, "waits", 2))
    # Also after a restart
    assert not world.channel().attends(answer(first, "waits", 2))


async def test_a_text_does_not_go_again_for_a_file_that_has_to_wait(world: World) -> None:
    inbound = await opened(world)
    (world.folder / "t.csv").write_text("1,2")
    file = Attachment(str(world.folder / "t.csv"), "text/csv", "t", 3)
    channel = world.channel()
    for number in range(1, 5):
        await channel.send(answer(inbound, f"no {number}", number))
    whole = replace(answer(inbound, "with a file", 5), files=(file,))
    with pytest.raises(ChannelUnavailable):
        await channel.send(whole)
    assert not world.server.uploads
    again = world.channel()
    second = world.server.write("more")["d"]["id"]
    await again._sending._windows.open(PLACE, second)
    await again.send(whole)
    assert [one[0] for one in world.shown[4:]] == ["with a file", "a file"]
    assert world.shown[-1][1:] == (second, 1)


async def test_a_clock_that_is_set_changes_nothing_while_it_runs(tmp_path: Path) -> None:
    clock = SteppedClock()
    windows = QqWindows(tmp_path / "w.json", "1", clock)
    await windows.open(PLACE, "m")
    clock._wall_offset_s += 1e8
    assert windows.has_room(PLACE)
    # What is kept is by people's time, and no longer than the platform's
    again = QqWindows(tmp_path / "w.json", "1", clock)
    assert not again.has_room(PLACE)
    clock._wall_offset_s -= 2e8
    back = QqWindows(tmp_path / "w.json", "1", clock)
    assert back.has_room(PLACE)
    clock.advance(WINDOW_S["user"])
    assert not back.has_room(PLACE)


@pytest.mark.parametrize(
    "kept", ["", "[]", '{"account":"1"}', '{"account":"2","places":{},"sent":[]}']
)
def test_what_is_no_record_of_this_bot_is_none(kept: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(kept)
    assert not QqWindows(tmp_path / "w.json", "1", SteppedClock()).has_room(PLACE)


async def test_the_record_does_not_grow_for_ever(tmp_path: Path) -> None:
    windows = QqWindows(tmp_path / "w.json", "1", SteppedClock())
    for number in range(MAX_MESSAGES + 5):
        await windows.open(PLACE, f"m{number}")
    for number in range(MAX_PLACES):
        windows._places[f"group:{number}"] = []
        windows._known.add(f"group:{number}")
    await windows.open("group:last", "m")
    kept = json.loads((tmp_path / "w.json").read_bytes())
    assert PLACE not in kept["places"]
    assert "group:last" in kept["places"]
    assert len(windows._places) == MAX_PLACES


async def test_strangers_leave_nothing_and_nobody_is_forgotten_for_them(tmp_path: Path) -> None:
    windows = QqWindows(tmp_path / "w.json", "1", SteppedClock())
    await windows.open(PLACE, "m")
    before = (tmp_path / "w.json").stat().st_mtime_ns
    for number in range(MAX_PLACES + 5):
        await windows.open(f"user:stranger-{number}", "m", is_known=False)
    last = f"user:stranger-{MAX_PLACES + 4}"
    assert windows.has_room(last)
    assert await windows.take(last, "key", "m") is not None
    assert not windows.has_room("user:stranger-0")
    assert windows.has_room(PLACE)
    assert (tmp_path / "w.json").stat().st_mtime_ns == before
    await windows.open(last, "another")
    assert last in json.loads((tmp_path / "w.json").read_bytes())["places"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("open"), st.sampled_from("mnop")),
            st.tuples(st.sampled_from(["sent", "lost", "away", "refused", "over"]), WORDS),
            st.tuples(st.just("advance"), st.sampled_from([60.0, 2000.0])),
            st.tuples(st.just("restart"), st.none()),
        ),
        max_size=60,
    )
)
def test_a_number_is_of_one_answer_whatever_becomes_of_any(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_walk(Path(folder) / "w.json", steps))


async def _walk(path: Path, steps: list[tuple[str, Any]]) -> None:
    clock = SteppedClock()
    windows = QqWindows(path, "1", clock)
    # What the platform has, by message and number
    there: dict[tuple[str, int], str] = {}
    for step, told in steps:
        if step == "open":
            await windows.open(PLACE, told)
        elif step == "advance":
            clock.advance(told)
        elif step == "restart":
            windows = QqWindows(path, "1", clock)
        elif not windows.was_sent(told):
            await _say(windows, there, step, told)
    numbers = [number for _, number in there]
    assert all(1 <= number <= MAX_REPLIES for number in numbers)


async def _say(
    windows: QqWindows, there: dict[tuple[str, int], str], outcome: str, key: str
) -> None:
    had_room = windows.has_room(PLACE) or windows.has_tried(PLACE, key)
    reply = await windows.take(PLACE, key, "n")
    assert (reply is not None) == had_room
    if reply is None:
        return
    number = (reply.message_id, reply.seq)
    assert there.get(number, key) == key
    assert reply.was_tried or number not in there
    if outcome in {"sent", "lost"}:
        there[number] = key
    if outcome == "sent":
        await windows.sent(reply)
    elif outcome == "over":
        await windows.close(reply)
    elif outcome == "refused" and number not in there:
        await windows.refused(reply, is_used=False)
