import asyncio
import socket
import time
from pathlib import Path

import psycopg
import pytest

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.postgres import schema
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.postgres.schema import MIGRATIONS
from agent.memory.postgres.server import BrainServer
from agent.storage.postgres import connection
from agent.storage.postgres.connection import reason
from agent.storage.postgres.pipeline import Connection
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import PASSWORD, PostgresServer
from tests.memory.postgres.conftest import Open


async def test_a_wrong_password_is_said_and_not_shown(debian_server: PostgresServer) -> None:
    memory = PostgresMemory(
        Secret(debian_server.url("postgres", "wrong-word")), NoEmbedder(), SteppedClock()
    )
    with pytest.raises(MemoryUnavailable, match="password authentication failed") as refused:
        await memory.count()
    assert "wrong-word" not in str(refused.value)
    assert not await memory.health_check()
    await memory.aclose()


@pytest.mark.parametrize(
    "url", [f"postgresql//barnacle:{PASSWORD}@x/y", f"host=x passwort={PASSWORD}", "%zz"]
)
async def test_an_address_that_is_none_is_said_and_not_shown(url: str) -> None:
    memory = PostgresMemory(Secret(url), NoEmbedder(), SteppedClock())
    with pytest.raises(MemoryUnavailable, match="postgres_url") as refused:
        await memory.count()
    assert PASSWORD not in str(refused.value)
    await memory.aclose()


def test_a_password_in_a_message_of_the_server_is_masked() -> None:
    said = reason(psycopg.OperationalError("at postgresql://me:hush@host/db password=hush x"))
    assert said == "at postgresql://me***host/db password=*** x"


async def test_a_server_that_is_away_is_left_alone_for_a_while(tmp_path: Path) -> None:
    clock = SteppedClock()
    memory = PostgresMemory(
        Secret(f"postgresql://barnacle@/barn?host={tmp_path}"), NoEmbedder(), clock
    )
    for _ in range(2):
        with pytest.raises(MemoryUnavailable, match="cannot be reached"):
            await memory.store("k", "content", scope=MEI)
    # A listener that would be noticed: nobody knocks before the time is over
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / ".s.PGSQL.5432"))
        listener.listen()
        listener.settimeout(0)
        with pytest.raises(MemoryUnavailable, match="cannot be reached"):
            await memory.count()
        with pytest.raises(BlockingIOError):
            listener.accept()
    clock.advance(connection.COOL_DOWN_S)
    with pytest.raises(MemoryUnavailable, match="refused"):
        await memory.count()
    await memory.aclose()


async def test_a_server_that_never_answers_does_not_hold_a_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CALL_TIMEOUT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / ".s.PGSQL.5432"))
        listener.listen()
        memory = PostgresMemory(
            Secret(f"postgresql://barnacle@/barn?host={tmp_path}"), NoEmbedder(), SteppedClock()
        )
        begun_s = time.monotonic()
        with pytest.raises(MemoryUnavailable):
            await memory.count()
        assert time.monotonic() - begun_s < 3
        await memory.aclose()


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(
    debian_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_TIMEOUT_S", 0.2)
    server = BrainServer(Secret(debian_server.fresh_url()), SteppedClock())

    async def sleep(db: Connection) -> None:
        await db.execute("SELECT pg_sleep(60)")

    with pytest.raises(MemoryUnavailable, match="statement timeout"):
        await server.run(sleep)

    async def answer(db: Connection) -> object:
        return await (await db.execute("SELECT 42")).fetchone()

    assert await server.run(answer) == (42,)
    await server.aclose()


async def test_a_session_that_is_cut_in_the_middle_of_a_statement_is_an_error_and_the_next_works(
    debian_server: PostgresServer,
) -> None:
    server = BrainServer(Secret(debian_server.fresh_url()), SteppedClock())
    pids: asyncio.Queue[int] = asyncio.Queue()

    async def wait(db: Connection) -> None:
        pids.put_nowait(db.info.backend_pid)
        await db.execute("INSERT INTO migrations VALUES (99)")
        await db.execute("SELECT pg_sleep(4)")

    async def count(db: Connection) -> object:
        return await (await db.execute("SELECT count(*) FROM migrations")).fetchone()

    task = asyncio.create_task(server.run(wait))
    pid = await pids.get()
    await asyncio.to_thread(debian_server.sql, f"SELECT pg_terminate_backend({pid})")
    with pytest.raises(MemoryUnavailable):
        await task
    assert await server.run(count) == (len(MIGRATIONS),)
    await server.aclose()


async def test_a_failed_job_changes_nothing(debian_server: PostgresServer) -> None:
    server = BrainServer(Secret(debian_server.fresh_url()), SteppedClock())

    async def break_off(db: Connection) -> None:
        await db.execute("INSERT INTO migrations VALUES (99)")
        await db.execute("SELECT 1 / 0")

    async def count(db: Connection) -> object:
        return await (await db.execute("SELECT count(*) FROM migrations")).fetchone()

    with pytest.raises(MemoryUnavailable, match="division by zero"):
        await server.run(break_off)
    assert await server.run(count) == (len(MIGRATIONS),)
    await server.aclose()


async def test_a_cancelled_call_leaves_the_connection_usable(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(debian_server.fresh_url(), NoEmbedder())
    for _ in range(5):
        task = asyncio.create_task(memory.store("", "content", scope=MEI))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await memory.store("k", "content", scope=MEI)
    assert (await memory.get("k", MEI)) is not None


async def test_a_user_who_may_not_make_anything_is_told(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    url = debian_server.fresh_url()
    debian_server.sql(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    memory = open_memory(url.replace("//barnacle:", "//guest:"), NoEmbedder())
    with pytest.raises(MemoryUnavailable, match="permission denied"):
        await memory.count()


async def test_a_large_brain_is_brought_up_to_date_for_longer_than_a_call_waits(
    debian_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "SET LOCAL statement_timeout = 0; SELECT pg_sleep(6)"
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, slow))
    monkeypatch.setattr(connection, "CALL_TIMEOUT_S", 3.0)
    memory = PostgresMemory(Secret(debian_server.fresh_url()), NoEmbedder(), SteppedClock())
    with pytest.raises(MemoryUnavailable, match="took longer"):
        await memory.count()
    opening = memory._server._opening
    assert opening is not None
    await opening
    assert await memory.count() == 0
    await memory.aclose()
