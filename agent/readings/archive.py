"""Archive of readings: what keeps them after the ring, and the one in `readings.db`.

A batch is in the ring until an archive has it: its number is stored together with its values, so
that it is there once whatever was cut.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agent.readings import packing
from agent.readings.columns import Columns
from agent.readings.packing import ArchiveState, PackJob
from agent.readings.series import Series, SeriesKind
from agent.storage.worker import DatabaseWorker


class Kept(Struct, frozen=True):
    """Rows of a span.

    Args:
        rows: in the order of their times.
        number: of the last batch that they contain.
        is_whole: false where an archive that may have more did not answer.
    """

    rows: Sequence[Columns]
    number: int
    is_whole: bool = True


class Archive(Protocol):
    """Archive of one agent's readings; every call may raise what its storage raises."""

    async def state(self) -> ArchiveState:
        """Return what it knows of its readings, and its last batch."""

    async def keep_series(self, cadences_s: Mapping[SeriesKind, int]) -> list[Series]:
        """Return the series of these kinds after all of them are written together.

        What has measured something else by one of their names gets another, and is among them.
        """

    async def rows(self, series: Series, begin_ms: int, end_ms: int, *, is_fine: bool) -> Kept:
        """Return the rows of a span: as fine as each day is kept, or quarters of an hour."""

    async def number(self) -> int:
        """Return the number of the last batch that is here."""

    async def pack(self, job: PackJob) -> None:
        """Keep new values and forget old ones; what is kept twice is there once."""

    async def aclose(self) -> None: ...


class LocalArchive:
    """Packed days in `readings.db`."""

    def __init__(self, folder: Path) -> None:
        self.database = DatabaseWorker(folder / "readings.db", packing.MIGRATIONS)

    async def state(self) -> ArchiveState:
        return await self.database.look(packing.read_state)

    async def keep_series(self, cadences_s: Mapping[SeriesKind, int]) -> list[Series]:
        return await self.database.transact(lambda db: packing.keep_every_series(db, cadences_s))

    async def rows(self, series: Series, begin_ms: int, end_ms: int, *, is_fine: bool) -> Kept:
        return await self.database.look(
            lambda db: Kept(
                packing.kept_rows(db, series, begin_ms, end_ms, is_fine=is_fine),
                packing.read_number(db),
            )
        )

    async def number(self) -> int:
        return await self.database.look(packing.read_number)

    async def pack(self, job: PackJob) -> None:
        await self.database.transact(job.run)

    async def aclose(self) -> None:
        await self.database.aclose()
