"""What a run of the agent does besides its parts."""

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.app import boards, run
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from agent.update import records
from agent.update.records import UpdateOutcome, UpdateRecords
from tests.fakes.channel import FakeChannel
from tests.waits import wait_until


class Owner:
    """The way to the owner, who hears one thing."""

    def __init__(self) -> None:
        self.heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def tell(self, text: str) -> None:
        self.heard.set_result(text)


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a card of ours has; the update on it was not kept."""
    monkeypatch.setattr(run, "_IMAGE", tmp_path / "image.json")
    monkeypatch.setattr(records, "FOLDER", tmp_path / "update")
    (tmp_path / "image.json").write_text("{}")
    outcome = UpdateOutcome("0.2.0", "0.1.0", is_kept=False, at_s=1.0, reason="its unit failed")
    UpdateRecords(tmp_path / "update").write(outcome)
    return tmp_path


def agent_with(owner: Owner, state_dir: Path) -> Any:
    return SimpleNamespace(
        paths=SimpleNamespace(state_dir=state_dir),
        clock=SystemClock(),
        access=owner,
    )


async def test_the_owner_hears_what_came_of_an_update(card: Path) -> None:
    owner = Owner()
    async with asyncio.TaskGroup() as tasks:
        before = asyncio.all_tasks()
        run._tell_of_updates(agent_with(owner, card), tasks)
        [telling] = asyncio.all_tasks() - before
        said = await owner.heard
        telling.cancel()
    assert said == "Version 0.2.0 is not kept: its unit failed. I run 0.1.0 again."


async def test_elsewhere_than_on_a_card_of_ours_nobody_looks(card: Path) -> None:
    (card / "image.json").unlink()
    async with asyncio.TaskGroup() as tasks:
        before = asyncio.all_tasks()
        run._tell_of_updates(agent_with(Owner(), card), tasks)
        assert asyncio.all_tasks() == before


async def test_outputs_are_safe_before_a_channel_takes_its_time_to_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    class ReleasedBoard(SerialBoard):
        async def release(self) -> None:
            order.append("board released")
            await super().release()

    class ClosingChannel(FakeChannel):
        async def aclose(self) -> None:
            order.append("channel closed")

    monkeypatch.setattr(boards, "SerialBoard", ReleasedBoard)
    monkeypatch.setattr(run, "_platforms", lambda *_: (ClosingChannel(),))
    settings = Settings(board=BoardSettings(port=str(tmp_path / "board")))
    running = asyncio.create_task(run.run(settings, Paths(None, tmp_path / "state")))
    await wait_until(lambda: signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
    assert await running == 0
    # Once more at the end: a turn may have gone on meanwhile
    assert order == ["board released", "channel closed", "board released"]
