"""Ids for messages that have none, the same when the broker says them again."""

from pathlib import Path

import pytest

from agent.channels.mqtt.channel import MAX_RECENT, MqttState
from agent.storage.files import write_atomic


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mqtt/session.json"


async def known(session: MqttState, number: int, text: bytes, *, again: bool = False) -> str:
    return await session.message_id(number, "barnacle/in/anna", text, is_again=again)


async def test_the_name_at_the_broker_stays(path: Path) -> None:
    name = await MqttState(path).client_id()
    assert name.startswith("barnacle-")
    assert await MqttState(path).client_id() == name


async def test_what_comes_again_is_known_also_after_a_restart(path: Path) -> None:
    session = MqttState(path)
    await session.client_id()
    first = await known(session, 1, b"hello")
    assert await known(session, 1, b"hello", again=True) == first
    later = MqttState(path)
    await later.client_id()
    assert await known(later, 1, b"hello", again=True) == first


async def test_a_number_that_is_used_anew_is_another_message(path: Path) -> None:
    session = MqttState(path)
    first = await known(session, 1, b"hello")
    assert await known(session, 1, b"hello") != first
    second = await known(session, 1, b"hello")
    assert await known(session, 1, b"bye", again=True) != second


async def test_what_is_kept_is_bounded(path: Path) -> None:
    session = MqttState(path)
    ids = [await known(session, number, b"hello") for number in range(MAX_RECENT + 1)]
    assert await known(session, 0, b"hello", again=True) != ids[0]
    assert await known(session, MAX_RECENT, b"hello", again=True) == ids[-1]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"recent": 1, "client_id": "x"}'])
async def test_a_damaged_file_is_begun_anew(path: Path, content: bytes) -> None:
    write_atomic(path, content)
    name = await MqttState(path).client_id()
    assert name.startswith("barnacle-")
    assert await MqttState(path).client_id() == name
