"""Notices of readings: the owner is told once, with a drawing, what is unusual or broken.

Looks when a quarter of an hour is over. What was told and lasts outlives a restart. A reading
without new values is a gap: nothing is said of it.
"""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agent.access.owner import Owner
from agent.errors import BarnacleError, StorageFull
from agent.messages import Attachment
from agent.readings.baseline import DAY_MS, QUARTER_MS
from agent.readings.columns import Columns
from agent.readings.judge import Judge, Notice
from agent.readings.series import Series
from agent.storage.files import write_atomic
from agent.system.clock import Clock
from agent.tools.readings_draw import DrawArguments, ReadingArtist

# The last values of a quarter have been recorded by then
_AFTER_S = 20.0
_QUARTER_S = QUARTER_MS / 1000
_DRAWN_HOURS = 24.0
# Names of readings with a word for each
_MAX_FILE_BYTES = 64 * 1024
_PNG = "image/png"

_log = logging.getLogger(__name__)


class Noticer:
    """Notices of all sensors of the boards.

    Args:
        alarms_a_week: false ones that the owner bears, of all readings together.
        path: what was told and lasts.
    """

    def __init__(
        self, artist: ReadingArtist, alarms_a_week: float, path: Path, clock: Clock
    ) -> None:
        self._artist = artist
        self._store = artist.desk.store
        self._alarms_a_week = alarms_a_week
        self._path = path
        self._clock = clock
        self._judges: dict[str, Judge] = {}
        self._learned_day = 0
        self._told = _told_before(path)
        # Noticed already, and not noticed again while it lasts
        self._untold: list[Notice] = []

    async def run(self, owner: Owner) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(self._pause_s())
            try:
                self._untold += await self.look()
                while self._untold:
                    await self.tell(owner, self._untold[0])
                    del self._untold[0]
            except BarnacleError as err:
                # A full disk must not end the looking
                _log.error("readings: notice not made (error=%s)", err)

    async def look(self) -> Sequence[Notice]:
        """Return what is new at the last quarter of an hour that is over."""
        await self._store.open()
        end_ms = round(self._clock.wall_s() * 1000) // QUARTER_MS * QUARTER_MS
        await self._learn(end_ms)
        found: list[Notice] = []
        for judge in self._judges.values():
            rows = await self._rows(judge.series, end_ms, judge.LOOKED_AT_MS)
            if len(rows) and rows.at_ms[-1] == end_ms - QUARTER_MS:
                notice = await asyncio.to_thread(judge.look, rows)
                found += [notice] if notice is not None else []
        await self._keep()
        return found

    async def tell(self, owner: Owner, notice: Notice) -> None:
        """Tell the owner, with a drawing of the last day."""
        text = sentence(notice)
        _log.warning("readings: noticed (text=%s)", text)
        arguments = DrawArguments(notice.series.name, hours=_DRAWN_HOURS)
        try:
            drawing = await self._artist.drawn(arguments)
        except BarnacleError as err:
            _log.warning("readings: notice not drawn (error=%s)", err)
            await owner.tell(text)
            return
        picture = self._artist.file_of(drawing)
        files = () if picture is None else (_attachment(picture),)
        await owner.show(text, files, drawing.line)

    async def _learn(self, end_ms: int) -> None:
        """Learn anew once a day, and whatever is recorded since."""
        watched = [one for one in self._store.every_series() if _is_watched(one)]
        is_new_day = self._learned_day != end_ms // DAY_MS
        for series in watched:
            if series.name in self._judges and not is_new_day:
                continue
            told = self._told.get(series.name, "")
            known = self._judges.get(series.name)
            judge = Judge(
                series,
                self._alarms_a_week / len(watched),
                self._artist.desk.zone,
                told=known.told if known else told,
            )
            rows = await self._rows(series, end_ms, judge.LEARNED_MS)
            await asyncio.to_thread(judge.learn, rows)
            self._judges[series.name] = judge
        self._learned_day = end_ms // DAY_MS

    async def _rows(self, series: Series, end_ms: int, length_ms: int) -> Columns:
        return await self._store.rows(series, end_ms - length_ms, end_ms)

    async def _keep(self) -> None:
        told = {name: judge.told for name, judge in self._judges.items() if judge.told}
        if told == self._told:
            return
        try:
            await asyncio.to_thread(write_atomic, self._path, msgspec.json.encode(told))
        except (StorageFull, OSError) as err:
            # Told again after a restart, at the worst
            _log.debug("readings: told notices not stored (error=%s)", err)
        self._told = told

    def _pause_s(self) -> float:
        return _QUARTER_S - self._clock.wall_s() % _QUARTER_S + _AFTER_S


def sentence(notice: Notice) -> str:
    """Return the notice in words."""
    name, unit = notice.series.name, notice.series.kind.unit
    value = f"{notice.value:.4g} {unit}".strip()
    if notice.fault is not None:
        advice = "look at the sensor and its wires"
        return f"{name} seems to be broken, it {notice.fault.value} ({value}): {advice}."
    low, high = notice.usual or (notice.value, notice.value)
    usual = f"{low:.4g} to {high:.4g} {unit}".strip()
    return f"{name} is {value}, unusual for this hour: usually {usual}."


def _is_watched(series: Series) -> bool:
    return series.kind.is_board and not series.kind.is_switch


def _attachment(path: Path) -> Attachment:
    return Attachment(str(path), _PNG, path.name, path.stat().st_size)


def _told_before(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_FILE_BYTES), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}
