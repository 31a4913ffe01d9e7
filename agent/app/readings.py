"""Composition of the readings: their store, their recorder, and what answers questions about them.

Loaded when an agent is at work or asked; no start needs it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from agent.app.reading_store import open_store
from agent.link.board import SerialBoard
from agent.machine.readings import Readings
from agent.readings.recorder import ReadingSource, Recorder
from agent.readings.sources import BoardReadings, MachineReadings, PinReadings
from agent.readings.store import ReadingStore
from agent.schedule.trust import is_trusted
from agent.settings import Paths, Settings
from agent.system.clock import RELEASED_S, Clock
from agent.tools.readings import ReadingDesk, ReadingsListTool, ReadingsQueryTool

if TYPE_CHECKING:
    from agent.access.owner import Owner
    from agent.messages import ToolSpec
    from agent.peripherals.gpio import PiPins
    from agent.tools.base import AnyTool
    from agent.tools.order_rehearsal import OrderRehearsal
    from agent.tools.readings_draw import ReadingArtist
    from agent.tools.reflex_rehearsal import ReflexRehearsal

# A start has better things to do, and nothing is unusual before a quarter of an hour is over
_FIRST_NOTICE_S = 60.0
# Without any network values go by the time that there is: what is never placed is dropped
_WAIT_FOR_TIME_S = 3600.0


class ReadingRecord:
    """The readings of one agent."""

    def __init__(
        self, settings: Settings, paths: Paths, clock: Clock, boards: Sequence[SerialBoard]
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._clock = clock
        self._boards = boards
        self._begun_s = clock.monotonic_s()

    @cached_property
    def store(self) -> ReadingStore:
        return open_store(self._settings, self._paths, self._clock)

    @cached_property
    def desk(self) -> ReadingDesk:
        return ReadingDesk(self.store, self._clock, self._called)

    @cached_property
    def artist(self) -> "ReadingArtist":
        from agent.security.sandbox.choice import choose  # noqa: PLC0415 - no start needs it
        from agent.tools.readings_draw import ReadingArtist  # noqa: PLC0415 - as above

        sandbox = choose(self._paths.workspace).sandbox
        return ReadingArtist(self.desk, self._paths.workspace, self._limits, sandbox)

    @cached_property
    def rehearsal(self) -> "ReflexRehearsal":
        """Return what tries reflexes on the readings."""
        from agent.tools.reflex_rehearsal import ReflexRehearsal  # noqa: PLC0415 - as above

        return ReflexRehearsal(self.artist)

    @cached_property
    def orders(self) -> "OrderRehearsal":
        """Return what tries the orders of jobs and watches on the readings."""
        from agent.providers.offline.order_reader import orders_in  # noqa: PLC0415 - as above
        from agent.providers.offline.rehearsal_voice import SpokenRehearsal  # noqa: PLC0415 - as above
        from agent.tools.board import BoardTools  # noqa: PLC0415 - as above
        from agent.tools.order_rehearsal import OrderRehearsal  # noqa: PLC0415 - as above
        from agent.tools.order_trial import RehearsedBoard  # noqa: PLC0415 - as above
        from agent.tools.plain_orders import PlainOrder  # noqa: PLC0415 - as above

        async def read(text: str, language: str, specs: "Sequence[ToolSpec]") -> "list[PlainOrder]":
            found = await orders_in(text, language, specs)
            return [PlainOrder(one.tool, one.arguments) for one in found]

        boards = [
            RehearsedBoard(board, BoardTools(board, None, named).tools, named)
            for board, named in zip(self._boards, self._named(), strict=True)
        ]
        return OrderRehearsal(self.artist, boards, read, SpokenRehearsal)

    def tools(self) -> "tuple[AnyTool, ...]":
        from agent.tools.readings_draw import ReadingsDrawTool  # noqa: PLC0415 - as above

        desk = self.desk
        return (ReadingsDrawTool(self.artist), ReadingsListTool(desk), ReadingsQueryTool(desk))

    async def plot(self, text: str, *, takes_files: bool) -> str:
        """Return the answer to `/plot`, with the marker of a picture where files can go."""
        from agent.access.commands import argument_of  # noqa: PLC0415 - for those who ask
        from agent.tools.readings_draw import plotted  # noqa: PLC0415 - as above

        return await plotted(self.artist, argument_of(text), takes_files=takes_files)

    async def run(self, pins: "PiPins | None") -> None:
        """Record until cancelled."""
        sources = tuple(self._sources(pins))
        recorder = Recorder(
            self.store, sources, self._settings.readings, self._clock, self._is_sure
        )
        try:
            await recorder.run()
        finally:
            await self.store.aclose()

    async def notice(self, owner: "Owner") -> None:
        """Tell the owner what is unusual or broken, until cancelled."""
        alarms_a_week = self._settings.readings.false_alarms_per_week
        if not alarms_a_week:
            return
        await self._clock.sleep(_FIRST_NOTICE_S)
        from agent.hardware.notices import Noticer  # noqa: PLC0415 - for those who are told

        noticer = Noticer(self.artist, alarms_a_week, self._paths.reading_notices, self._clock)
        await noticer.run(owner)

    def _sources(self, pins: "PiPins | None") -> Iterator[ReadingSource]:
        yield from map(BoardReadings, self._boards)
        yield MachineReadings(Readings(self._paths.state_dir))
        if pins is not None:
            yield PinReadings(pins)

    def _called(self) -> Mapping[str, Collection[str]]:
        """Return the owner's words for each pin."""
        boards = [board.pins.items() for board in self._settings.every_board()]
        own = {name: pin.called for pins in boards for name, pin in pins}
        mine = {
            name: (*pin.aliases, *pin.also, pin.place, *pin.group)
            for name, pin in self._settings.pins.items()
        }
        return own | mine

    def _named(self) -> Iterator[frozenset[str]]:
        """Yield the names that the owner gave to the pins of each board."""
        for board in self._settings.every_board():
            called = (one for pin in board.pins.values() for one in pin.called)
            yield frozenset({*board.pins, *called})

    def _limits(self, name: str) -> Sequence[float]:
        """Return the limits of the configured watches on a reading."""
        found = [
            watch.above if watch.below is None else watch.below
            for board in self._settings.every_board()
            for watch in board.watch.values()
            if watch.pin == name.rpartition(":")[2]
        ]
        return [limit for limit in found if limit is not None]

    def _is_sure(self) -> bool:
        now_s = self._clock.wall_s()
        waited_s = self._clock.monotonic_s() - self._begun_s
        return is_trusted(now_s) or (now_s >= RELEASED_S and waited_s > _WAIT_FOR_TIME_S)
