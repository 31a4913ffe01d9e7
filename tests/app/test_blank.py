"""Blank boards: nobody looks while nothing happens, and what is plugged in is looked at."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from agent.app import blank
from agent.app.blank import LOOK_AGAIN_S, LOOK_AT_LEAST_S, SETTLE_S, BlankWatch
from agent.channels.base import Answer, Question
from agent.link.base import Standing
from agent.settings import Settings
from tests.fakes.board import FakeBoard
from tests.fakes.watches import no_watches_left
from tests.waits import wait_until

AT_PROMPT = "a MicroPython prompt answers at /dev/fake-board, not the Barnacle firmware"


class StillClock:
    """Time that does not go by: who sleeps for longer than a moment sleeps on."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []

    def monotonic_s(self) -> float:
        return 0.0

    def wall_s(self) -> float:
        return 0.0

    async def sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        if duration_s > SETTLE_S:
            await asyncio.Event().wait()
        await asyncio.sleep(0)


class ToldBoard(FakeBoard):
    """A link that tells of its status."""

    def __init__(self) -> None:
        super().__init__()
        self.plugged_in = False
        self.standing = Standing(self.status)

    def says(self, trouble: str) -> None:
        self.trouble = trouble
        assert self.standing.becomes(self.status)


@dataclass
class Place:
    """A machine with one bus of USB, its agent's watch, and an owner."""

    folder: Path
    clock: StillClock = field(default_factory=StillClock)
    link: ToldBoard = field(default_factory=ToldBoard)
    told: list[str] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        self.usb = self.folder / "usb"
        self.nodes = self.folder / "dev"
        (self.nodes / "001").mkdir(parents=True)

    def watch(self) -> BlankWatch:
        boards = cast("Any", (self.link,))
        record = self.folder / "record"
        return BlankWatch(boards, Settings(), record, self.clock, self.usb, self.nodes)

    def plug(self, bus: str = "001") -> None:
        """Plug in a boot loader: what it says first, then its node."""
        device = self.usb / "1-1"
        device.mkdir(parents=True)
        for name, text in {"idVendor": "0483", "idProduct": "df11", "devnum": "4"}.items():
            (device / name).write_text(text)
        (self.nodes / bus / "004").touch()

    async def confirm(self, _question: Question) -> Answer:
        return Answer.NO

    async def tell(self, text: str) -> None:
        self.told.append(text)

    @contextlib.asynccontextmanager
    async def at_work(self, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Task[None]]:
        """Run the watch, up to where it waits for something to happen."""

        def counted(devices: Path) -> tuple[object, ...]:
            self.looks += 1
            return found(devices)

        found = blank.boot_loaders
        monkeypatch.setattr(blank, "boot_loaders", counted)
        running = asyncio.create_task(self.watch().run(self.confirm, self.tell))
        try:
            await wait_until(lambda: any(one > SETTLE_S for one in self.clock.slept_s))
            yield running
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_nobody_looks_while_nothing_happens(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.at_work(monkeypatch):
        # At the start, and once more since the watch began after it
        assert place.looks == 2
        assert [one for one in place.clock.slept_s if one > SETTLE_S] == [LOOK_AT_LEAST_S]
        place.link.says("no board found on USB")
        await asyncio.sleep(0)
        assert place.looks == 2


@pytest.mark.parametrize("bus", ["001", "002"])
async def test_a_board_in_its_boot_loader_is_asked_about(
    place: Place, bus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.at_work(monkeypatch):
        (place.nodes / bus).mkdir(exist_ok=True)
        place.plug(bus)
        [told] = await wait_until(lambda: place.told)
    assert "a board in its boot loader is plugged in" in told


async def test_a_board_that_a_link_meets_at_its_prompt_is_looked_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Looking:
        looks = 0

        async def look(self, _confirm: object, _tell: object) -> bool:
            self.looks += 1
            return True

    looking = Looking()
    monkeypatch.setattr(BlankWatch, "_opened", lambda _self: looking)
    async with place.at_work(monkeypatch):
        assert looking.looks == 0
        place.link.says(AT_PROMPT)
        await wait_until(lambda: looking.looks == 1)
        # Nobody could be asked: somebody may pair
        await wait_until(lambda: LOOK_AGAIN_S in place.clock.slept_s)
    assert place.link.standing._watchers == []


async def test_where_the_kernel_tells_nothing_it_looks_now_and_then(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_watches_left(monkeypatch)
    async with place.at_work(monkeypatch):
        assert place.looks == 1
        assert [one for one in place.clock.slept_s if one > SETTLE_S] == [LOOK_AGAIN_S]
