import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import ReadingsUnavailable
from agent.readings.archive import LocalArchive
from agent.readings.packing import DAY_MS, News, PackJob, Retention
from agent.readings.postgres.archive import PostgresArchive
from agent.readings.series import Series, SeriesKind
from agent.readings.shared_archive import COOL_DOWN_S, ServerArchive, SharedArchive
from agent.readings.store import ReadingStore
from tests.contracts.readings import BEGIN_MS, MINUTES, ROOM
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import DEBIAN, PostgresServer, unavailable_reason

pytestmark = pytest.mark.usefixtures("patience")
SLOTS = 40
TABLES = "SELECT count(*), count(DISTINCT at) FROM barnacle.reading_values"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that is stopped now and then."""
    if reason := unavailable_reason(DEBIAN):
        pytest.skip(reason)
    made = PostgresServer(DEBIAN)
    made.start()
    yield made
    made.remove()


class Home:
    """Stores of one agent on one server, one after another."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self.folder, self.server = folder, server
        self.clock = SteppedClock()
        self.url = server.fresh_url()
        self.stores: list[ReadingStore] = []

    def archive(self, agent: str = "garden") -> PostgresArchive:
        return PostgresArchive(Secret(self.url), self.clock, agent)

    async def open(
        self, archive: ServerArchive | None = None, slots: int = SLOTS, boot: str = "boot"
    ) -> ReadingStore:
        shared = SharedArchive(LocalArchive(self.folder), archive or self.archive(), self.clock)
        store = ReadingStore(self.folder, Retention(), boot, slots, shared=shared)
        self.stores.append(store)
        await store.open()
        return store

    async def close(self, store: ReadingStore) -> None:
        self.stores.remove(store)
        await store.aclose()

    def values(self) -> tuple[int, int]:
        """How many values are on the server, and of how many times."""
        many, different = self.server.sql(TABLES, self.database).split("|")
        return int(many), int(different)

    @property
    def database(self) -> str:
        return self.url.rpartition("/")[2].partition("?")[0]

    def back(self) -> None:
        """The server is there, and it is long ago that it was not."""
        self.server.start()
        self.clock.advance(COOL_DOWN_S + 1)


@pytest.fixture
async def home(tmp_path: Path, server: PostgresServer) -> AsyncIterator[Home]:
    made = Home(tmp_path, server)
    yield made
    for store in made.stores:
        await store.aclose()
    if not is_running(server):
        server.start()


def is_running(server: PostgresServer) -> bool:
    return server._process is not None


async def record(store: ReadingStore, first: int, count: int, *, every: int = 10) -> Series:
    """A value a minute, which is its minute; committed every so many."""
    room = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(first, first + count):
        store.add(room, minute * 60.0, float(minute))
        if minute % every == every - 1:
            await store.commit(BEGIN_MS + minute * 60_000)
            await store.settle()
    return room


async def kept(store: ReadingStore, first: int, count: int) -> list[float]:
    room = await store.series(ROOM, 60)
    begin_ms = BEGIN_MS + first * 60_000
    return (await store.rows(room, begin_ms, begin_ms + count * 60_000)).means


def numbers(first: int, count: int) -> list[float]:
    return [float(minute) for minute in range(first, first + count)]


async def test_what_is_committed_is_on_the_server_soon_and_once(home: Home) -> None:
    store = await home.open()
    room = await record(store, 0, 100)
    assert home.values() == (100, 100)
    assert await kept(store, 0, 100) == numbers(0, 100)
    assert not store.is_partial
    assert store.latest()[room] == 99.0


async def test_a_person_finds_each_reading_with_its_unit(home: Home) -> None:
    await record(await home.open(), 0, 10)
    asked = "SELECT time AT TIME ZONE 'UTC', agent, name, unit, value FROM barnacle.readings"
    first, *_ = home.server.sql(f"{asked} ORDER BY time", home.database).splitlines()
    assert first == "2027-03-03 00:00:00|garden|room.temperature|°C|0"


async def test_what_is_measured_anew_has_nothing_of_before_it_also_until_the_server_knows(
    home: Home,
) -> None:
    store = await home.open()
    before = await record(store, 0, 10)
    fahrenheit = await store.series(SeriesKind(ROOM.name, "°F"), 60)
    former = next(one for one in store.every_series() if one.id == before.id)
    end_ms = BEGIN_MS + 20 * 60_000
    # The server still has what was by that name
    assert (await store.rows(fahrenheit, BEGIN_MS, end_ms)).means == []
    store.add(fahrenheit, 600.0, 70.0)
    await store.commit(BEGIN_MS + 600_000)
    await store.settle()
    assert (await store.rows(fahrenheit, BEGIN_MS, end_ms)).means == [70.0]
    assert (await store.rows(former, BEGIN_MS, end_ms)).means == numbers(0, 10)


async def test_a_server_that_is_away_stops_nothing_and_gets_all_of_it_later(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    store = await home.open()
    await record(store, 0, 20)
    home.server.stop()
    await record(store, 20, 20)
    assert store.trouble == ""
    # The ring still has what was moved, too
    assert await kept(store, 0, 40) == numbers(0, 40)
    assert not store.is_partial
    await kept(store, -60, 100)
    assert store.is_partial
    assert caplog.text.count("server away") == 1
    home.back()
    await record(store, 40, 10)
    assert home.values() == (50, 50)
    assert await kept(store, 0, 50) == numbers(0, 50)
    assert not store.is_partial
    assert "server is back" in caplog.text


async def test_a_ring_that_fills_while_the_server_is_away_is_put_aside_and_moved_later(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    store = await home.open(slots=8)
    await record(store, 0, 10)
    home.server.stop()
    await record(store, 10, 40 * 10)
    assert "put aside until the server is back" in caplog.text
    assert store.trouble == ""
    # The ring has lost the first ten minutes, which only the server has
    assert await kept(store, 10, 400) == numbers(10, 400)
    home.back()
    await record(store, 410, 10)
    assert home.values() == (420, 420)
    assert await kept(store, 0, 420) == numbers(0, 420)
    chunks = await store.database.look(
        lambda db: db.execute("SELECT count(*) FROM chunk").fetchone()
    )
    assert chunks == (0,)


async def test_a_start_without_the_server_counts_on_and_doubles_nothing(home: Home) -> None:
    first = await home.open()
    await record(first, 0, 50)
    await home.close(first)
    home.server.stop()
    second = await home.open(boot="boot")
    await record(second, 50, 20)
    assert await kept(second, 0, 70) == numbers(0, 70)
    home.back()
    await record(second, 70, 10)
    assert home.values() == (80, 80)


async def test_readings_after_a_lost_ring_are_not_taken_for_old_ones(home: Home) -> None:
    first = await home.open()
    await record(first, 0, 100)
    await home.close(first)
    home.server.stop()
    (home.folder / "readings.ring").unlink()
    second = await home.open()
    await record(second, 100, 20)
    await home.close(second)
    third = await home.open()
    home.back()
    await record(third, 120, 10)
    assert home.values() == (130, 130)


class ForgetfulServer(PostgresArchive):
    """A server whose acknowledgements are lost: what was packed is there all the same."""

    lost = 0

    async def pack(self, job: PackJob) -> None:
        await super().pack(job)
        self.lost += 1
        raise ReadingsUnavailable("the acknowledgement was lost")


async def test_a_lost_acknowledgement_doubles_nothing(home: Home) -> None:
    archive = ForgetfulServer(Secret(home.url), home.clock, "garden")
    store = await home.open(archive)
    await record(store, 0, 100)
    assert archive.lost == 10
    assert home.values() == (100, 100)
    home.clock.advance(COOL_DOWN_S + 1)
    assert await kept(store, 0, 100) == numbers(0, 100)
    room = await store.series(ROOM, 60)
    quarters = await store.rows(room, BEGIN_MS - 5 * DAY_MS, BEGIN_MS + DAY_MS)
    assert sum(quarters.counts) == 100


async def test_a_connection_that_is_cut_loses_and_doubles_nothing(home: Home) -> None:
    store = await home.open()
    for part in range(10):
        await record(store, part * 10, 10)
        home.server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{home.database}'"
        )
    assert home.values() == (100, 100)
    assert await kept(store, 0, 100) == numbers(0, 100)


async def test_a_restart_of_the_server_in_the_middle_loses_and_doubles_nothing(home: Home) -> None:
    store = await home.open()
    for part in range(4):
        room = await store.series(ROOM, 60)
        store.place(BEGIN_MS, is_sure=True)
        for minute in range(part * 10, part * 10 + 10):
            store.add(room, minute * 60.0, float(minute))
        await store.commit(BEGIN_MS + part * 600_000)
        await asyncio.to_thread(home.server.stop)
        home.back()
        await store.settle()
    await record(store, 40, 10)
    assert home.values() == (50, 50)


async def test_what_was_recorded_before_there_was_a_server_is_moved_once(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    local = ReadingStore(home.folder, Retention(), "boot", slots=4)
    await local.open()
    room = await local.series(ROOM, 60)
    local.place(BEGIN_MS, is_sure=True)
    for day in range(40):
        for minute in range(0, MINUTES, 30):
            local.add(room, day * 86_400.0 + minute * 60, float(day * 48 + minute // 30))
        await local.commit(BEGIN_MS + day * DAY_MS)
    end_ms = BEGIN_MS + 40 * DAY_MS
    before = await local.rows(room, BEGIN_MS, end_ms)
    fine = await local.rows(room, end_ms - 2 * DAY_MS, end_ms)
    await local.aclose()
    for _ in range(2):
        store = await home.open(slots=4)
        store.place(BEGIN_MS, is_sure=True)
        await store.commit(end_ms)
        await store.settle()
        after = await store.rows(room, BEGIN_MS, end_ms)
        assert (after.at_ms, after.means, after.counts) == (
            before.at_ms,
            before.means,
            before.counts,
        )
        again = await store.rows(room, end_ms - 2 * DAY_MS, end_ms)
        assert (again.at_ms, again.means) == (fine.at_ms, fine.means)
        await home.close(store)
    assert caplog.text.count("all is moved to the server") == 1


async def test_a_move_that_is_cut_goes_on_where_it_was(home: Home) -> None:
    local = LocalArchive(home.folder)
    [room] = await local.keep_series({ROOM: 60})
    for day in range(6):
        times = [BEGIN_MS + day * DAY_MS + minute * 60_000 for minute in range(60)]
        await local.pack(PackJob([news_of(room, times)], day + 1, 20_880 + day, Retention()))
    await local.aclose()
    store = await home.open(CutServer(Secret(home.url), home.clock, "garden"))
    store.place(BEGIN_MS, is_sure=True)
    for _ in range(12):
        home.clock.advance(COOL_DOWN_S + 1)
        await store.commit(BEGIN_MS + 6 * DAY_MS)
        await store.settle()
    assert home.values() == (360, 360)
    assert len(await kept(store, 5 * MINUTES, 60)) == 60


def news_of(series: Series, times: list[int]) -> News:
    return News(series, times, [float(at % 7) for at in times])


class CutServer(PostgresArchive):
    """A server that is cut after every second pack."""

    count = 0

    async def pack(self, job: PackJob) -> None:
        await super().pack(job)
        self.count += 1
        if self.count % 2:
            raise ReadingsUnavailable("cut")


async def test_agents_on_one_server_do_not_see_each_other(home: Home, tmp_path: Path) -> None:
    garden = await home.open()
    await record(garden, 0, 20)
    home.folder = tmp_path / "other"
    cellar = await home.open(home.archive("cellar"))
    await record(cellar, 0, 10)
    assert await kept(cellar, 0, 20) == numbers(0, 10)
    assert await kept(garden, 0, 20) == numbers(0, 20)
    assert home.values() == (30, 20)


async def test_a_server_that_never_answers_holds_up_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.storage.postgres.connection.CALL_TIMEOUT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / ".s.PGSQL.5432"))
        listener.listen()
        url = Secret(f"postgresql://barnacle@/barn?host={tmp_path}")
        clock = SteppedClock()
        archive = PostgresArchive(url, clock, "garden")
        shared = SharedArchive(LocalArchive(tmp_path), archive, clock)
        store = ReadingStore(tmp_path, Retention(), "boot", SLOTS, shared=shared)
        await store.open()
        room = await store.series(ROOM, 60)
        store.place(BEGIN_MS, is_sure=True)
        for commit in range(3):
            clock.advance(COOL_DOWN_S + 1)
            store.add(room, commit * 60.0, float(commit))
            await store.commit(BEGIN_MS + commit * 60_000)
            moving = store._moving
            assert moving is not None
            # What waits for the server is in the background
            assert not moving.done()
            await store.settle()
        assert await kept(store, 0, 3) == numbers(0, 3)
        assert store.is_partial is False
        await kept(store, -10, 13)
        assert store.is_partial
        await store.aclose()
