import asyncio
import contextlib
import shutil
from pathlib import Path

import pytest

from agent.machine import boot
from agent.messaging import inbox
from agent.messaging.journal import MIGRATIONS
from agent.messaging.worker import MAX_ATTEMPTS, PARKED_TEXT
from agent.storage.database import IN_RAM, open_database
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider, StalledProvider

# A turn asks its model within milliseconds
ASKED_S = 10.0


async def _cut_in_turns(folder: Path, boots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Power fails in the turn on a message, in each of these starts of the machine."""
    for number, boot_file in enumerate(boots):
        boot_file.write_text(f"boot {number}")
        monkeypatch.setattr(boot, "PATH", boot_file)
        # It never answers; nothing is written down at the end of a machine without power
        provider = StalledProvider()
        async with running(folder / f"run-{number}", provider, FakeChannel()) as agent:
            if number:
                await agent.dispatcher.resume(agent.tasks)
            else:
                await agent.say("hi")
            async with asyncio.timeout(ASKED_S):
                await provider.asked.wait()
            left = folder / f"run-{number + 1}"
            left.mkdir()
            for path in (folder / f"run-{number}").glob("agent.db*"):
                shutil.copy(path, left)
    monkeypatch.setattr(boot, "PATH", folder / "none")


@pytest.mark.parametrize("cuts", [1, 2, 3])
async def test_power_that_fails_in_a_turn_is_no_fault_of_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    boots = [tmp_path / f"boot-{number}" for number in range(cuts)]
    await _cut_in_turns(tmp_path, boots, monkeypatch)
    channel = FakeChannel()
    async with running(tmp_path / f"run-{cuts}", EchoProvider(), channel) as agent:
        await agent.dispatcher.resume(agent.tasks)
        assert await channel.wait_for(1) == ["echo: hi"]


async def test_a_message_that_takes_the_machine_with_it_each_time_is_parked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = inbox.MAX_CUTS + MAX_ATTEMPTS
    boots = [tmp_path / f"boot-{number}" for number in range(cuts)]
    await _cut_in_turns(tmp_path, boots, monkeypatch)
    channel = FakeChannel()
    async with running(tmp_path / f"run-{cuts}", EchoProvider(), channel) as agent:
        await agent.dispatcher.resume(agent.tasks)
        assert await channel.wait_for(1) == [PARKED_TEXT]


def test_a_start_reads_no_message_that_is_settled() -> None:
    """Fifty thousand are kept, and whoever looks at each takes a tenth of a second for it."""
    with contextlib.closing(open_database(IN_RAM, MIGRATIONS)) as db:
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        inbox.excuse_cuts(db)
        inbox.unanswered(db)
        db.set_trace_callback(None)
        for question in asked:
            plan = " ".join(str(row) for row in db.execute(f"EXPLAIN QUERY PLAN {question}"))
            assert "inbox_open" in plan
    assert len(asked) == 2
