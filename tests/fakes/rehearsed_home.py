"""Home of a job or a watch that is rehearsed: real readings, the real schedule, and a board."""

from dataclasses import dataclass

import msgspec

from agent.hardware.watches import BoardWatcher
from agent.link.reflexes import ReflexRule, pack_rule
from agent.link.settings import WatchSettings
from agent.readings.store import ReadingStore
from agent.schedule.job_book import JobBook
from agent.tools.base import Forecast
from agent.tools.cron import CronAddArguments
from agent.tools.order_rehearsal import OrderRehearsal
from agent.tools.readings_draw import ReadingArtist
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.reflex_table import ReflexTable

WATER = "switch the pump on for 5 minutes"


@dataclass
class Home:
    """A store of readings, a board, and the books of jobs and watches."""

    store: ReadingStore
    artist: ReadingArtist
    board: FakeBoard
    rules: ReflexTable
    rehearsal: OrderRehearsal
    jobs: JobBook
    watcher: BoardWatcher
    clock: SteppedClock

    async def of_job(self, **wanted: object) -> Forecast | None:
        made = {"cron": "0 7 * * *", "prompt": WATER} | wanted
        return await self.jobs.foresee(CronAddArguments("water", **made))  # type: ignore[arg-type]

    async def of_watch(self, **wanted: object) -> Forecast | None:
        watch = WatchSettings(**{"pin": "a0", "below": 1.2} | wanted)  # type: ignore[arg-type]
        return await self.watcher.foresee("dry_soil", watch, "en")

    def need(self, **needs: tuple[tuple[str, int], ...]) -> None:
        assert self.board.manifest is not None
        pins = tuple(
            msgspec.structs.replace(pin, needs=needs.get(pin.name, pin.needs))
            for pin in self.board.manifest.pins
        )
        self.board.manifest = msgspec.structs.replace(self.board.manifest, pins=pins)

    def teach(self, rule: ReflexRule) -> None:
        assert self.board.manifest is not None
        raw = pack_rule(self.board.manifest, rule)
        self.rules.rules[len(self.rules.rules)] = (1, 0, 0, 0, 0, raw)
