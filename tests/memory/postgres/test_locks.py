"""Agents that change the same memories at once, and agents that hold a transaction and die."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.memory.base import CORE, Scope, StoreLimits
from agent.memory.postgres import locks, rows
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.postgres.rows import PostgresDraft
from agent.memory.postgres.server import BrainServer
from agent.messages import Provenance
from agent.storage.postgres import connection
from agent.storage.postgres.pipeline import Connection
from tests.contracts.memory import MEI, TOM
from tests.fakes.clock import SteppedClock
from tests.fakes.postgres import PostgresServer
from tests.memory.postgres.conftest import Open
from tests.waits import wait_until

OWNER = Provenance.OWNER
# An agent that holds the lock of an owner, and never ends its transaction
_HOLDER = """
import asyncio, sys
from agent.config import Secret
from agent.memory.postgres import locks
from agent.memory.postgres.server import BrainServer
from agent.system.clock import SystemClock

async def hold(db):
    await locks.owners(db, sys.argv[2])
    await (await db.execute("SELECT 1")).fetchone()
    print("holds", flush=True)
    await asyncio.Event().wait()

asyncio.run(BrainServer(Secret(sys.argv[1]), SystemClock()).run(hold))
"""


async def test_of_two_contradictions_at_once_one_stays(
    server: PostgresServer, open_memory: Open
) -> None:
    url = server.fresh_url()
    agents = [open_memory(url, NoEmbedder()) for _ in range(4)]

    async def tell(memory: PostgresMemory, place: str) -> None:
        entry = await memory.store("", f"I live in {place}", scope=MEI, provenance=OWNER)
        await memory.settle(entry)

    async with asyncio.TaskGroup() as tasks:
        for number, place in enumerate(("Oslo", "Turin", "Bergen", "Lima", "Graz", "Kyoto")):
            tasks.create_task(tell(agents[number % 4], place))
    assert len(await agents[0].list(MEI)) == 1
    assert (await agents[0].stats()).superseded == 5


async def test_agents_that_change_everything_at_once_never_wait_for_each_other(
    server: PostgresServer, open_memory: Open
) -> None:
    url = server.fresh_url()
    agents = [open_memory(url, NoEmbedder()) for _ in range(4)]

    async def live(memory: PostgresMemory) -> None:
        for number in range(6):
            made = [
                await memory.store(f"k{one}", f"the lamp {one} is {number}", scope=scope)
                for one in range(3)
                for scope in (MEI, TOM)
            ]
            await memory.supersede("k0", "k1", MEI)
            await memory.supersede("k1", "k0", MEI)
            await memory.forget("k1", TOM)
            await memory.restore(made[0])
            await memory.tidy(StoreLimits(), made[0].updated_at_s)
            await memory.rebuild()

    async with asyncio.TaskGroup() as tasks:
        for memory in agents:
            tasks.create_task(live(memory))
    assert "deadlock" not in (server.folder / "log").read_text()


async def test_a_number_that_somebody_gets_meanwhile_is_not_taken(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    url = debian_server.fresh_url()
    one, other = open_memory(url, NoEmbedder()), open_memory(url, NoEmbedder())
    first = await one.store("first", "the first", scope=MEI)
    # Another connection, in the middle of giving the next number
    busy = BrainServer(Secret(url), SteppedClock())
    given: asyncio.Queue[int] = asyncio.Queue()
    may_end = asyncio.Event()

    async def put_slowly(db: Connection) -> None:
        await locks.owners(db, TOM.owner)
        draft = PostgresDraft("second", "the second", CORE, TOM, OWNER, "")
        given.put_nowait((await rows.put(db, draft, 1.0)).memory_id)
        await may_end.wait()

    putting = asyncio.create_task(busy.run(put_slowly))
    moved = replace(first, key="moved", memory_id=await given.get())
    bringing = asyncio.create_task(other.restore(moved))
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    await wait_until(lambda: debian_server.sql(waiting) != "0")
    may_end.set()
    await asyncio.gather(putting, bringing)
    ids = [entry.memory_id async for entry in one.entries()]
    assert len(ids) == len(set(ids)) == 3
    await busy.aclose()


@pytest.fixture
def holder(debian_server: PostgresServer) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with the lock of Mei's memories, and the address of the database."""
    url = debian_server.fresh_url()
    command = [sys.executable, "-c", _HOLDER, url, MEI.owner]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        yield process, url
        process.kill()


async def test_an_agent_that_is_killed_in_a_transaction_holds_nobody_up(
    holder: tuple[subprocess.Popen[str], str], open_memory: Open
) -> None:
    process, url = holder
    memory = open_memory(url, NoEmbedder())
    waiting = asyncio.create_task(memory.store("k", "the lamp is on", scope=MEI))
    process.kill()
    assert (await waiting).content == "the lamp is on"


async def test_an_agent_that_stands_still_in_a_transaction_holds_nobody_up(
    holder: tuple[subprocess.Popen[str], str], open_memory: Open
) -> None:
    process, url = holder
    os.kill(process.pid, signal.SIGSTOP)
    memory = open_memory(url, NoEmbedder())
    # Somebody else's are not even waited for
    await memory.store("k", "the lamp is on", scope=TOM)
    await memory.store("k", "the lamp is on", scope=MEI)
    assert await memory.count() == 2


async def test_who_stands_in_a_long_line_gets_its_turn(
    debian_server: PostgresServer, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_TIMEOUT_S", 1)
    url = debian_server.fresh_url()
    first = BrainServer(Secret(url), SteppedClock())
    is_held, is_done = asyncio.Event(), asyncio.Event()

    async def hold(db: Connection) -> None:
        await locks.owners(db, MEI.owner)
        await (await db.execute("SELECT 1")).fetchone()
        is_held.set()
        # Each statement is short enough, all of them are not
        for _ in range(3):
            await db.execute("SELECT pg_sleep(0.5)")
        is_done.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first.run(hold))
        await is_held.wait()
        await open_memory(url, NoEmbedder()).store("key", "Under the mat", scope=MEI)
        assert is_done.is_set()
    await first.aclose()


async def test_a_connection_without_calls_is_given_back(
    debian_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, open_memory: Open
) -> None:
    monkeypatch.setattr(connection, "REST_S", 0.01)
    url = debian_server.fresh_url()
    memory = open_memory(url, NoEmbedder())
    await memory.store("k", "the lamp is on", scope=MEI)
    name = url.rpartition("/")[2].partition("?")[0]
    await wait_until(lambda: debian_server.connections(name) == 0)
    assert await memory.count() == 1


async def test_more_agents_than_a_server_has_room_for_are_served_in_turn(
    debian_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its thirty connections some are for its own user, and other tests have a few."""
    monkeypatch.setattr(connection, "REST_S", 0.01)
    url = Secret(debian_server.fresh_url())
    agents = [PostgresMemory(url, NoEmbedder(), SteppedClock()) for _ in range(40)]
    async with asyncio.TaskGroup() as tasks:
        for number, memory in enumerate(agents):
            tasks.create_task(memory.store(f"k{number}", "the lamp is on", scope=MEI))
    assert await agents[0].count() == 40
    for memory in agents:
        await memory.aclose()


async def test_locks_end_with_their_transaction(debian_server: PostgresServer) -> None:
    url = Secret(debian_server.fresh_url())
    one, other = (BrainServer(url, SteppedClock()) for _ in range(2))

    async def lock(db: Connection) -> None:
        await locks.owners(db, Scope("mei").owner)
        await locks.groups(db, Scope(group="family").owner)

    async def alone(db: Connection) -> None:
        await locks.everybodys(db)

    for job in (lock, alone, lock):
        await one.run(job)
        await other.run(job)
    for made in (one, other):
        await made.aclose()
