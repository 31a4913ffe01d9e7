import asyncio
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Channel
from agent.errors import ChannelUnavailable
from agent.messages import Address, Effect, Inbound, Outbound, Provenance
from agent.messaging.delivery import MAX_TRIES, Delivery
from agent.providers.base import Provider
from agent.schedule import performer as performing
from agent.schedule import schedule as scheduling
from agent.schedule.job_store import JobStore
from agent.schedule.performer import Performer
from agent.schedule.schedule import JobFailed, Outside, Schedule
from agent.system.clock import SystemClock
from agent.turn.outcome import NOTHING_TO_SAY
from tests.fakes.channel import FakeChannel, RefusingChannel
from tests.fakes.clock import HastyClock, SteppedClock
from tests.fakes.dispatching import Running, anybody, running, spoken
from tests.fakes.job_run import job
from tests.fakes.provider import (
    EchoProvider,
    ScriptedProvider,
    StalledProvider,
    UnreachableProvider,
    calls,
)
from tests.fakes.tools import CountingTool


def performer(at_work: Running, channel: Channel) -> Performer:
    delivery = Delivery(at_work.journal, {channel.name: channel}, SteppedClock())
    deliver = partial(at_work.dispatcher.deliver, tasks=at_work.tasks)
    clock, tasks = SystemClock(), at_work.tasks
    return Performer(at_work.journal, delivery, deliver, anybody, clock, at_work.folder, tasks)


async def test_a_message_arrives_as_it_was_ordered(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        assert await performer(at_work, channel)(job(every_s=60.0)) == "delivered"
    assert [(one.recipient, one.text) for one in channel.sent] == [("chat", "Tea!")]


async def test_whoever_lost_access_is_reminded_no_more(tmp_path: Path) -> None:
    channel = FakeChannel()
    asked = list[Inbound]()

    def nobody(message: Inbound) -> bool:
        asked.append(message)
        return False

    async with running(tmp_path, EchoProvider(), channel) as at_work:
        perform = replace(performer(at_work, channel), stands=nobody)
        with pytest.raises(JobFailed, match="no access any more"):
            await perform(job(every_s=60.0, person="p7"))
    assert (channel.sent, asked[0].person) == ([], "p7")


async def test_a_delivery_that_fails_is_a_job_that_failed(tmp_path: Path) -> None:
    channel = RefusingChannel(MAX_TRIES)
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        with pytest.raises(JobFailed, match="fake did not accept it"):
            await performer(at_work, channel)(job(every_s=60.0))


async def test_what_cannot_be_reached_is_kept_and_no_turn_begins(tmp_path: Path) -> None:
    channel = FakeChannel()
    away = {"channel": "elsewhere", "every_s": 60.0}
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        perform = performer(at_work, channel)
        assert await perform(job(**away)) == "kept until elsewhere is connected"
        with pytest.raises(JobFailed, match="elsewhere is not connected"):
            await perform(job(message="", prompt="Water", **away))


class AwayChannel(FakeChannel):
    """Not reached until `is_away` is false."""

    is_away = True

    async def send(self, message: Outbound) -> None:
        if self.is_away:
            raise ChannelUnavailable("no network")
        await super().send(message)


@pytest.mark.parametrize(
    ("what", "said"), [({}, "Tea!"), ({"message": "", "prompt": "Look"}, "echo: Look")]
)
async def test_a_platform_that_is_away_for_long_gets_it_later_and_no_job_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: dict[str, str], said: str
) -> None:
    monkeypatch.setattr(scheduling, "RUN_TIMEOUT_S", 3.0)
    monkeypatch.setattr(performing, "AWAY_S", 0.1)
    channel, store, told = AwayChannel(), JobStore(tmp_path / "jobs.json"), list[str]()

    async def tell(text: str) -> None:
        told.append(text)

    async with running(tmp_path, EchoProvider(), channel) as at_work:
        delivery = at_work.dispatcher._delivery
        delivery.clock = HastyClock()
        deliver = partial(at_work.dispatcher.deliver, tasks=at_work.tasks)
        clock, tasks = HastyClock(), at_work.tasks
        perform = Performer(at_work.journal, delivery, deliver, anybody, clock, tmp_path, tasks)
        store.add(job(at_s=clock.wall_s() - 1.0, **what))
        async with asyncio.TaskGroup() as looking:
            outside = Outside(perform, tell, is_trusted=lambda _wall_s: True)
            await Schedule(store, clock).look(outside, looking)
        assert (store.find("tea").result, told) == ("kept until fake is connected", [])
        channel.is_away = False
        assert await channel.wait_for(1) == [said]


async def test_a_turn_without_an_answer_is_a_job_that_failed(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, UnreachableProvider(), channel) as at_work:
        with pytest.raises(JobFailed, match="its turn failed"):
            await performer(at_work, channel)(job(every_s=60.0, message="", prompt="Look"))
    assert "no answer from the language model" in channel.sent[0].text


async def test_a_turn_with_nothing_to_say_says_nothing(tmp_path: Path) -> None:
    channel = FakeChannel()
    provider = ScriptedProvider(f"**{NOTHING_TO_SAY}**", "The soil is dry.")
    async with running(tmp_path, provider, channel) as at_work:
        wanted = job(every_s=60.0, message="", prompt="Look", thread="7")
        assert await performer(at_work, channel)(wanted) == "nothing to say"
        assert await performer(at_work, channel)(wanted) == "answered"
    (said,) = channel.sent
    assert (said.text, said.thread, said.in_reply_to) == ("The soil is dry.", "7", "")
    # What was not said is not read again either
    assert [one.text for one in spoken(provider.requests[-1])] == ["Look"]
    assert channel.drafts == []


PROMPT = {"every_s": 60.0, "message": "", "prompt": "Look", "run_id": "a-run"}


async def test_a_turn_that_was_cut_off_is_followed_to_its_end(tmp_path: Path) -> None:
    channel = FakeChannel()
    provider = StalledProvider()
    async with running(tmp_path, provider, channel) as at_work:
        begun = at_work.tasks.create_task(performer(at_work, channel)(job(**PROMPT)))
        await provider.asked.wait()
        begun.cancel()
    # The next start takes the turn up, and with it the job
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        await at_work.dispatcher.resume(at_work.tasks)
        assert await performer(at_work, channel).follow(job(**PROMPT)) == "answered"
    assert [one.text for one in channel.sent] == ["echo: Look"]


async def test_a_turn_that_was_cut_off_before_it_began_is_a_job_that_failed(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        follow = performer(at_work, channel).follow
        with pytest.raises(JobFailed, match="the agent ended before its turn began"):
            await follow(job(**PROMPT))
        with pytest.raises(JobFailed, match="its message may or may not have been sent"):
            await follow(job(every_s=60.0))
    assert channel.sent == []


@pytest.mark.parametrize("trust", [Provenance.OWNER, Provenance.WEB])
async def test_a_turn_has_the_trust_of_who_made_the_job_and_can_make_none(
    tmp_path: Path, trust: Provenance
) -> None:
    channel, lamp = FakeChannel(), CountingTool(Effect.READ)
    provider: Provider = ScriptedProvider(calls(("lamp", '{"value":"on"}')), "Done.")
    async with running(tmp_path, provider, channel, tools=[lamp]) as at_work:
        wanted = job(every_s=60.0, message="", prompt="Look", trust=int(trust))
        assert await performer(at_work, channel)(wanted) == "answered"
    ((_, context),) = lamp.uses
    assert (context.provenance, context.place) == (trust, None)
    assert context.conversation == "fake_chat_job-tea_owner"


async def test_a_person_makes_jobs_for_where_they_write(tmp_path: Path) -> None:
    channel, lamp = FakeChannel(), CountingTool(Effect.READ)
    provider = ScriptedProvider(calls(("lamp", '{"value":"on"}')), "Done.")
    async with running(tmp_path, provider, channel, tools=[lamp]) as at_work:
        await at_work.say("Look")
        await channel.wait_for(1)
    ((_, context),) = lamp.uses
    assert context.place == Address("fake", "chat", "owner", None, "1")


async def test_a_job_of_a_group_stays_one_where_others_read(tmp_path: Path) -> None:
    channel = FakeChannel()
    taken: list[Inbound] = []
    async with running(tmp_path, EchoProvider(), channel) as at_work:

        async def take(inbound: Inbound) -> None:
            taken.append(inbound)
            await at_work.dispatcher.take(inbound, at_work.tasks)

        perform = replace(performer(at_work, channel), deliver=take)
        wanted = job(every_s=60.0, message="", prompt="Look", is_group=True, sender="4711")
        assert await perform(wanted) == "answered"
    assert [(one.is_group, one.sender, one.who) for one in taken] == [(True, "4711", "owner")]
