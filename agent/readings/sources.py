"""Sources of readings: boards, this machine and its own pins."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from agent.errors import CallRefused, PinRefused
from agent.link.base import Board, BoardState, Value
from agent.link.events import EventSource, Watch
from agent.link.manifest import Field
from agent.link.readings import NO_PIN, BoardReading, read_method, readings, settings
from agent.link.settings import BoardSettings
from agent.machine.readings import Readings
from agent.readings.series import SeriesKind

SWITCH_CHOICES = ("off", "on")
# A board takes 16 subscriptions: 12 are for watches, and the approval button needs one
MAX_FOLLOWED = 3
# A contact has settled by then
LEAST_INTERVAL_MS = 50
_Wanted = Callable[[str], bool]
# Name, unit, and what reads it
_MachineValue = tuple[str, str, Callable[[], float | None]]


class ChangeNote(Protocol):
    """Receiver of a change."""

    async def __call__(self, kind: SeriesKind, value: float, at_s: float) -> None: ...


async def nothing_to_follow(_note: ChangeNote) -> None:
    """Return at once: this source tells of no change by itself."""


class RecordedBoard(Board, EventSource, Protocol):
    """A board that can be asked and that tells of changes."""


class BoardReadings:
    """Readings of a board; those of one that is away are left out."""

    def __init__(self, board: RecordedBoard) -> None:
        self._board = board
        self._manifest = asyncio.Event()
        is_plain = board.name == BoardSettings().name
        self._prefix = "" if is_plain else f"{board.name}:"

    async def follow(self, note: ChangeNote) -> None:
        """See `ReadingSource`; outputs come first, others are only looked at."""
        forget = self._board.on_manifest(lambda _manifest: self._manifest.set())
        try:
            await self._manifest.wait()
        finally:
            forget()
        async with asyncio.TaskGroup() as tasks:
            for one in self._followed():
                tasks.create_task(self._tell(one, note))

    def _followed(self) -> list[BoardReading]:
        manifest = self._board.manifest
        if manifest is None:
            return []
        outputs = {one.pin.index for one in settings(manifest)}
        switches = [one for one in readings(manifest) if one.field.choices == SWITCH_CHOICES]
        return sorted(switches, key=lambda one: one.index not in outputs)[:MAX_FOLLOWED]

    async def _tell(self, one: BoardReading, note: ChangeNote) -> None:
        watch = Watch(one.name, least_interval_ms=LEAST_INTERVAL_MS)
        async for event in self._board.subscribe(watch):
            if (value := number_of(one.field, event.value)) is not None:
                await note(self._kind(one), value, event.monotonic_s)

    async def take(self, wanted: _Wanted) -> Mapping[SeriesKind, float]:
        """See `ReadingSource`; each pin is asked once.

        Raises:
            LinkLost: the board went away meanwhile.
        """
        if self._board.status.state is not BoardState.READY:
            return {}
        taken: dict[SeriesKind, float] = {}
        for (method, pin), parts in self._calls(wanted).items():
            try:
                result = await self._board.call(method, {pin[0]: pin[1]} if pin else {})
            except CallRefused:
                # Not ready, or pulled out: a gap
                continue
            for one in parts:
                if (value := number_of(one.field, result.get(one.field.name))) is not None:
                    taken[self._kind(one)] = value
        return taken

    def _calls(
        self, wanted: _Wanted
    ) -> dict[tuple[str, tuple[str, str] | None], list[BoardReading]]:
        """Return the readings by the method and the pin that are asked for them."""
        manifest = self._board.manifest
        if manifest is None:
            return {}
        pins = {pin.index: pin for pin in manifest.pins}
        found: dict[tuple[str, tuple[str, str] | None], list[BoardReading]] = {}
        for one in readings(manifest):
            if not wanted(self._prefix + one.name) or not _is_number(one.field):
                continue
            if one.index == NO_PIN:
                found.setdefault((one.name, None), []).append(one)
            elif method := read_method(manifest, pins[one.index]):
                asked = (method.arguments[0].name, pins[one.index].name)
                found.setdefault((method.name, asked), []).append(one)
        return found

    def _kind(self, one: BoardReading) -> SeriesKind:
        is_switch = one.field.choices == SWITCH_CHOICES
        return SeriesKind(self._prefix + one.name, one.field.unit, is_switch)


def number_of(field: Field, value: Value | None) -> float | None:
    """Return the value as a number: 1 for on."""
    if isinstance(value, str):
        return float(field.choices.index(value)) if value in field.choices else None
    return value


def _is_number(field: Field) -> bool:
    return not field.choices or field.choices == SWITCH_CHOICES


class MachineReadings:
    """Readings of this machine."""

    def __init__(self, machine: Readings) -> None:
        self._machine = machine
        self.follow = nothing_to_follow
        self._absent: set[str] = set()
        self._values: tuple[_MachineValue, ...] = (
            ("machine.temperature", "°C", machine.temperature_c),
            ("machine.load", "", machine.load_1min),
            ("machine.memory_free", "MB", self._memory_free_mb),
            ("machine.disk_free", "MB", self._disk_free_mb),
        )

    async def take(self, wanted: _Wanted) -> Mapping[SeriesKind, float]:
        """See `ReadingSource`."""
        due = [one for one in self._values if wanted(one[0])]
        # Asked every ten seconds, and due once a minute: no thread wakes for nothing. A value that
        # this machine does not have is always due, and is looked for with the others
        if all(name in self._absent for name, _, _ in due):
            return {}
        return await asyncio.to_thread(lambda: dict(self._read(due)))

    def _read(self, due: list[_MachineValue]) -> Iterator[tuple[SeriesKind, float]]:
        self._absent.clear()
        for name, unit, read in due:
            if (value := read()) is None:
                self._absent.add(name)
            else:
                yield SeriesKind(name, unit, is_board=False), round(value, 2)

    def _memory_free_mb(self) -> float | None:
        return self._machine.memory_mb().get("MemAvailable")

    def _disk_free_mb(self) -> float | None:
        room = self._machine.room()
        return room.free_mb if room else None


class SwitchedPins(Protocol):
    """Pins of this machine."""

    @property
    def pins(self) -> Mapping[str, object]: ...

    def read(self, name: str) -> bool:
        """Return true if the pin is on.

        Raises:
            PinRefused: it cannot be read.
        """


class PinReadings:
    """Inputs and outputs of this machine, as `pi:fan`."""

    def __init__(self, pins: SwitchedPins) -> None:
        self._pins = pins
        self.follow = nothing_to_follow

    async def take(self, wanted: _Wanted) -> Mapping[SeriesKind, float]:
        """See `ReadingSource`."""
        taken: dict[SeriesKind, float] = {}
        for name in self._pins.pins:
            kind = SeriesKind(f"pi:{name}", is_switch=True, is_board=False)
            if wanted(kind.name):
                try:
                    taken[kind] = float(await asyncio.to_thread(self._pins.read, name))
                except PinRefused:
                    continue
        return taken
