import asyncio

import pytest
from msgspec.structs import replace

from agent.channels.base import Mark
from agent.messages import Inbound
from agent.messaging.worker import SHOW_AFTER_S, ProgressMarks
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.sending import BrokenOrnaments, Ornate


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_message_is_marked_and_somebody_types_until_the_answer_is_there() -> None:
    channel, clock = Ornate(), SteppedClock()
    showing = ProgressMarks(channel, message("hi"), clock)
    async with showing.working():
        await settle()
    shown = list(channel.shown)
    await showing.end(Mark.DONE)
    assert shown[:3] == ["seen", "typing", "typing"]
    assert clock.slept_s[0] == SHOW_AFTER_S
    assert set(clock.slept_s[1:]) == {4.0}
    assert channel.shown == [*shown, "done"]


async def test_an_answer_that_comes_at_once_needs_no_signs_and_a_failure_does() -> None:
    for mark, shown in ((Mark.DONE, []), (Mark.FAILED, ["failed"])):
        channel = Ornate()
        showing = ProgressMarks(channel, message("hi"), SteppedClock())
        async with showing.working():
            pass
        await showing.end(mark)
        assert channel.shown == shown


async def test_an_ornament_that_fails_is_nobodys_business() -> None:
    channel = BrokenOrnaments()
    showing = ProgressMarks(channel, message("hi"), SteppedClock())
    async with showing.working():
        await settle()
    await showing.end(Mark.FAILED)
    assert channel.shown == ["seen", "failed"]


@pytest.mark.parametrize("channel", [FakeChannel(), Ornate()])
async def test_nothing_is_shown_where_it_cannot_be_or_nobody_waits(channel: FakeChannel) -> None:
    inbound = replace(message("hi"), strand="job-tea" if isinstance(channel, Ornate) else None)
    showing = ProgressMarks(channel, inbound, SteppedClock())
    async with showing.working():
        await settle()
    await showing.end(Mark.DONE)
    assert not isinstance(channel, Ornate) or channel.shown == []


class SlowToMark(Ornate):
    """Takes its time for the first mark."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        if mark is Mark.SEEN:
            await self.go_on.wait()
        await super().mark(inbound, mark)


async def test_no_call_is_cut_off_in_the_middle_and_marks_keep_their_order() -> None:
    channel = SlowToMark()
    showing = ProgressMarks(channel, message("hi"), SteppedClock())
    async with showing.working():
        await settle()
    ending = asyncio.ensure_future(showing.end(Mark.DONE))
    await settle()
    assert channel.shown == []
    channel.go_on.set()
    await ending
    assert channel.shown == ["seen", "done"]
