from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent.config import Secret
from agent.readings.archive import Archive, LocalArchive
from tests.contracts.readings import EVERY_ARCHIVE
from tests.fakes.clock import SteppedClock

Case = Callable[[Archive], Awaitable[None]]


@pytest.fixture(params=["sqlite", "postgres"])
async def archive(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Archive]:
    """Each kind of archive in turn, on a real database."""
    made: Archive
    if request.param == "sqlite":
        made = LocalArchive(tmp_path)
    else:
        from agent.readings.postgres.archive import PostgresArchive  # noqa: PLC0415 - an extra

        url = request.getfixturevalue("debian_server").fresh_url()
        made = PostgresArchive(Secret(url), SteppedClock(), "garden")
    yield made
    await made.aclose()


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("case", EVERY_ARCHIVE, ids=lambda case: case.__name__)
async def test_every_archive(case: Case, archive: Archive) -> None:
    await case(archive)
