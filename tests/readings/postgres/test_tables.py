"""TimescaleDB is not to be had here: a stand-in with its names shows what is asked of it."""

import asyncio

import psycopg
import pytest

from agent.config import Secret
from agent.errors import ReadingsUnavailable
from agent.readings.postgres.archive import PostgresArchive
from tests.contracts.readings import ROOM, job, minutes, rows
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import PASSWORD, PostgresServer

pytestmark = pytest.mark.usefixtures("patience")
# The arguments of `create_hypertable` as its reference names them; it only notes the call
STAND_IN = """
INSERT INTO pg_extension VALUES (987654, 'timescaledb', 10, 'public'::regnamespace, false, 'none',
    NULL, NULL);
CREATE TABLE public.hypertables (made text, partitioned name, days interval);
CREATE FUNCTION public.create_hypertable(relation regclass, time_column_name name,
    partitioning_column name = NULL, number_partitions integer = NULL,
    chunk_time_interval anyelement = NULL::bigint, create_default_indexes boolean = true,
    if_not_exists boolean = false, migrate_data boolean = false)
RETURNS void LANGUAGE plpgsql AS $$ BEGIN {} END $$;
"""
NOTES = """
INSERT INTO public.hypertables VALUES (relation::text, time_column_name, chunk_time_interval);
"""
LISTED = """
CREATE SCHEMA timescaledb_information;
CREATE VIEW timescaledb_information.hypertables AS
SELECT 'barnacle'::name AS hypertable_schema, made::name AS hypertable_name
FROM public.hypertables;
"""


async def server_with(server: PostgresServer, *scripts: str) -> str:
    url = server.fresh_url()
    async with await psycopg.AsyncConnection.connect(url) as connection:
        for script in scripts:
            await connection.execute(script.encode())
    return url


async def opened(url: str) -> PostgresArchive:
    """An archive that has packed three values."""
    archive = PostgresArchive(Secret(url), SteppedClock(), "garden")
    [room] = await archive.keep_series({ROOM: 60})
    await archive.pack(job(1, minutes(room, [1.0, 2.0, 3.0])))
    assert (await rows(archive, room)).means == [1.0, 2.0, 3.0]
    return archive


def noted(server: PostgresServer, url: str) -> list[str]:
    database = url.rpartition("/")[2].partition("?")[0]
    asked = "SELECT made, partitioned, days FROM public.hypertables ORDER BY made"
    return server.sql(asked, database).splitlines()


async def test_hypertables_are_asked_for_once_where_the_extension_is(
    debian_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    url = await server_with(debian_server, STAND_IN.format(NOTES), LISTED)
    for _ in range(2):
        archive = await opened(url)
        await archive.aclose()
    assert noted(debian_server, url) == [
        "reading_minutes|at|7 days",
        "reading_quarters|at|90 days",
        "reading_values|at|1 day",
    ]
    assert caplog.text.count("table is a hypertable") == 3


@pytest.mark.parametrize(
    ("body", "listed"),
    [("RAISE EXCEPTION 'not with this licence';", LISTED), (NOTES, "SELECT 1")],
    ids=["refused", "another version"],
)
async def test_tables_stay_plain_where_a_hypertable_is_refused(
    body: str, listed: str, debian_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = await server_with(debian_server, STAND_IN.format(body), listed)
    archive = await opened(url)
    await archive.aclose()
    assert caplog.text.count("table stays plain") == 3
    assert noted(debian_server, url) == []


async def test_without_the_extension_nothing_is_asked(
    debian_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    archive = await opened(debian_server.fresh_url())
    await archive.aclose()
    assert "table" not in caplog.text


async def test_agents_that_start_at_the_same_moment_make_the_tables_once(
    debian_server: PostgresServer,
) -> None:
    url = debian_server.fresh_url()
    every = [PostgresArchive(Secret(url), SteppedClock(), f"agent{one}") for one in range(5)]
    assert await asyncio.gather(*(one.number() for one in every)) == [0] * 5
    for one in every:
        await one.aclose()


async def test_a_user_who_may_not_make_tables_is_told(debian_server: PostgresServer) -> None:
    url = debian_server.fresh_url()
    debian_server.sql(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
    archive = PostgresArchive(
        Secret(url.replace("//barnacle:", "//reader:")), SteppedClock(), "garden"
    )
    with pytest.raises(ReadingsUnavailable, match="permission denied"):
        await archive.number()
    await archive.aclose()


async def test_the_view_has_each_moment_once_as_finely_as_it_is_kept(
    debian_server: PostgresServer,
) -> None:
    url = debian_server.fresh_url()
    archive = await opened(url)
    [room] = await archive.keep_series({ROOM: 60})
    await archive.pack(job(2, today=20_880 + 30))
    await archive.pack(job(3, minutes(room, [7.0], first=30 * 1440), today=20_880 + 30))
    await archive.aclose()
    database = url.rpartition("/")[2].partition("?")[0]
    told = debian_server.sql(
        "SELECT value, low, high, count FROM barnacle.readings ORDER BY time", database
    )
    assert told.splitlines() == ["1|1|1|1", "2|2|2|1", "3|3|3|1", "7|7|7|1"]
    one = debian_server.sql("SELECT count(*) FROM barnacle.reading_values", database)
    assert one == "1"
