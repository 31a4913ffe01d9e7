"""Ids for messages that have none, and the age of what waited at the broker."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from agent.channels.mqtt.session import DRAINED_S, MAX_RECENT, NOTED_S, MqttState
from agent.errors import StorageFull
from agent.storage.files import write_atomic
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mqtt/session.json"


def opened(path: Path, clock: SteppedClock | None = None) -> MqttState:
    return MqttState(path, clock or SteppedClock())


async def known(session: MqttState, number: int, text: bytes, *, again: bool = False) -> str:
    return await session.message_id(number, "barnacle/in/anna", text, is_again=again)


async def test_the_name_at_the_broker_stays(path: Path) -> None:
    name = await opened(path).client_id()
    assert name.startswith("barnacle-")
    assert await opened(path).client_id() == name


async def test_what_comes_again_is_known_also_after_a_restart(path: Path) -> None:
    session = opened(path)
    await session.client_id()
    first = await known(session, 1, b"hello")
    assert await known(session, 1, b"hello", again=True) == first
    later = opened(path)
    await later.client_id()
    assert await known(later, 1, b"hello", again=True) == first


async def test_a_number_that_is_used_anew_is_another_message(path: Path) -> None:
    session = opened(path)
    first = await known(session, 1, b"hello")
    assert await known(session, 1, b"hello") != first
    second = await known(session, 1, b"hello")
    assert await known(session, 1, b"bye", again=True) != second


async def test_what_is_kept_is_bounded(path: Path) -> None:
    session = opened(path)
    ids = [await known(session, number, b"hello") for number in range(MAX_RECENT + 1)]
    assert await known(session, 0, b"hello", again=True) != ids[0]
    assert await known(session, MAX_RECENT, b"hello", again=True) == ids[-1]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"recent": 1, "client_id": "x"}'])
async def test_a_damaged_file_is_begun_anew(path: Path, content: bytes) -> None:
    write_atomic(path, content)
    name = await opened(path).client_id()
    assert name.startswith("barnacle-")
    assert await opened(path).client_id() == name


async def left_at_s(path: Path) -> float:
    later = opened(path)
    await later.client_id()
    return later.left_at_s


async def test_after_a_kill_what_waits_is_little_older_than_the_connection(path: Path) -> None:
    clock = SteppedClock()
    session = opened(path, clock)
    await session.client_id()
    session.join()
    joined_s = clock.wall_s()
    task = asyncio.create_task(session.note_while_joined())
    await wait_until(lambda: session.left_at_s >= joined_s + 2 * NOTED_S)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert await left_at_s(path) >= joined_s + 2 * NOTED_S
    assert clock.slept_s == [NOTED_S] * len(clock.slept_s)


async def test_what_cannot_be_taken_grows_no_younger(path: Path) -> None:
    """A full disk: the same message comes with each new connection."""
    clock = SteppedClock()
    session = opened(path, clock)
    await session.client_id()
    for _ in range(3):
        session.join()
        clock.advance(2 * NOTED_S)
        with pytest.raises(StorageFull), session.taking(is_late=True):
            raise StorageFull("no room")
        await session.leave()
    assert session.left_at_s == 0.0


async def test_what_is_cut_off_while_the_rest_waits_makes_the_rest_no_younger(path: Path) -> None:
    clock = SteppedClock()
    session = opened(path, clock)
    await session.client_id()
    session.join()
    clock.advance(NOTED_S)
    with session.taking(is_late=True):
        pass
    clock.advance(DRAINED_S / 2)
    await session.leave()
    assert session.left_at_s == 0.0


async def test_a_quiet_connection_that_ends_has_brought_everything(path: Path) -> None:
    clock = SteppedClock()
    session = opened(path, clock)
    await session.client_id()
    session.join()
    with session.taking(is_late=True):
        pass
    clock.advance(DRAINED_S)
    await session.leave()
    assert await left_at_s(path) == clock.wall_s()


async def test_a_clock_that_was_set_back_tells_nothing(path: Path) -> None:
    clock = SteppedClock()
    session = opened(path, clock)
    await session.client_id()
    session.join()
    clock.advance(DRAINED_S)
    await session.leave()
    later = opened(path, SteppedClock(wall_s=clock.wall_s() - 3600))
    await later.client_id()
    assert later.waiting_since_s() == 0.0
