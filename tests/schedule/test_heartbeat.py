from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Channel
from agent.messages import Address, Effect, Provenance
from agent.messaging.delivery import Delivery
from agent.schedule.heartbeat import MAX_CHARS, Heartbeat, orders
from agent.schedule.job import HEARTBEAT, State
from agent.schedule.job_store import JobStore
from agent.schedule.performer import Performer
from agent.system.clock import SystemClock
from agent.turn.outcome import NOTHING_TO_SAY
from tests.fakes.channel import FakeChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import Running, anybody, running, spoken
from tests.fakes.provider import EchoProvider, ScriptedProvider, calls
from tests.fakes.tools import CountingTool

HOME = Address("fake", "chat", "owner")
SOIL = "# Every look\n- Is the soil dry?\n"


def heartbeat(folder: Path, minutes: int = 30, home: Address | None = HOME) -> Heartbeat:
    return Heartbeat(
        JobStore(folder / "jobs.json"),
        SteppedClock(),
        minutes,
        folder,
        lambda: (home,) if home else (),
    )


def performer(at_work: Running, channel: Channel) -> Performer:
    delivery = Delivery(at_work.journal, {channel.name: channel}, SteppedClock())
    deliver = partial(at_work.dispatcher.deliver, tasks=at_work.tasks)
    clock, tasks = SystemClock(), at_work.tasks
    return Performer(at_work.journal, delivery, deliver, anybody, clock, at_work.folder, tasks)


@pytest.mark.parametrize(
    "text", ["", "\n", "# Heartbeat\n\n- [ ]\n---\n", "<!-- write what\n to look after -->\n# x\n"]
)
def test_a_file_of_headings_orders_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(text)
    assert orders(tmp_path) == ""


def test_what_is_not_there_or_leads_elsewhere_orders_nothing(tmp_path: Path) -> None:
    assert orders(tmp_path) == ""
    (tmp_path / "secret").write_text("the key")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "HEARTBEAT.md").symlink_to(tmp_path / "secret")
    assert orders(workspace) == ""


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_bytes(b"\xff" + "水".encode() * 9000)
    assert len(orders(tmp_path)) == MAX_CHARS


def test_the_job_comes_and_goes_with_the_file(tmp_path: Path) -> None:
    beat = heartbeat(tmp_path)
    beat.settle()
    assert not (tmp_path / "jobs.json").exists()
    (tmp_path / "HEARTBEAT.md").write_text(SOIL)
    beat.settle()
    made = beat.store.find(HEARTBEAT)
    assert (made.every_s, made.channel, made.trust) == (1800.0, "fake", Provenance.TOOL)
    (tmp_path / "HEARTBEAT.md").write_text("# Every look\n")
    beat.settle()
    assert beat.store.every() == []


def test_what_a_person_paused_stays_so_and_follows_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(SOIL)
    beat = heartbeat(tmp_path)
    beat.settle()
    beat.store.change(HEARTBEAT, lambda job: replace(job, state=State.PAUSED))
    heartbeat(tmp_path, 60, Address("telegram", "5", "5")).settle()
    job = beat.store.find(HEARTBEAT)
    assert (job.state, job.every_s, job.channel) == (State.PAUSED, 3600.0, "telegram")
    heartbeat(tmp_path, home=None).settle()
    assert beat.store.find(HEARTBEAT).channel == "telegram"
    heartbeat(tmp_path, 0).settle()
    assert beat.store.every() == []


async def test_a_look_asks_the_model_what_the_file_says_and_may_end_in_silence(
    tmp_path: Path,
) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(SOIL)
    beat, channel, pump = heartbeat(tmp_path), FakeChannel(), CountingTool(Effect.WRITE)
    beat.settle()
    provider = ScriptedProvider(
        NOTHING_TO_SAY, calls(("lamp", '{"value":"on"}')), "The soil is dry."
    )
    async with running(tmp_path, provider, channel, tools=[pump]) as at_work:
        perform = performer(at_work, channel)
        assert await perform(beat.store.find(HEARTBEAT)) == "nothing to say"
        assert channel.sent == []
        assert await perform(beat.store.find(HEARTBEAT)) == "answered"
    assert [one.text for one in channel.sent] == ["The soil is dry."]
    assert spoken(provider.requests[0])[-1].text.endswith(SOIL.strip())
    # Whoever can write the file is not the owner
    assert pump.uses == []
    assert len(channel.questions) == 1


async def test_without_orders_or_a_channel_no_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(SOIL)
    beat, channel = heartbeat(tmp_path), FakeChannel()
    beat.settle()
    job = beat.store.find(HEARTBEAT)
    (tmp_path / "HEARTBEAT.md").unlink()
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        perform = performer(at_work, channel)
        assert await perform(job) == "nothing to do"
        away = await perform(replace(job, channel="elsewhere"))
    assert (channel.sent, away) == ([], "not run: elsewhere is not connected")
