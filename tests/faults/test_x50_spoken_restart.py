"""A whole agent is killed while it does what was said in a room: who says it again gets it once."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import llm_server
from tests.fakes.board_sim import BoardSim
from tests.fakes.lives import Life, Lives, lives_of
from tests.fakes.obedient_model import obey
from tests.fakes.wyoming_client import WyomingClient
from tests.waits import wait_until

# Before the act, between the act and the answer, and after the answer
POINTS = (
    *("inbox.accepted", "turn.begun", "effect.intended", "effect.decided"),
    *("effect.acted", "effect.recorded", "answer.committed"),
)
CONFIG = """
[provider]
base_url = "{url}"
model = "fake"
offline_last = false
[board]
port = "{board}"
[embeddings]
provider = "none"
[wyoming]
listen = "127.0.0.1:{port}"
"""


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    with lives_of("tests.fakes.killed_voice_agent") as lives:
        yield lives


async def client_of(port: int, life: Life) -> WyomingClient:
    async def connected() -> WyomingClient | None:
        assert not life.ending.done()
        with contextlib.suppress(ConnectionError):
            return await WyomingClient.connected(port)
        return None

    found = await wait_until(connected)
    assert found is not None
    return found


async def order(port: int, life: Life) -> tuple[str, dict[str, Any]]:
    """Return the answer; nothing where the agent dies before it."""
    client = await client_of(port, life)
    try:
        client.ask("turn on the led", request_id="order-1")
        return await client.answer()
    except (ConnectionError, asyncio.IncompleteReadError):
        return "", {}
    finally:
        await client.aclose()


@pytest.mark.parametrize("point", POINTS)
async def test_killed_there_it_acts_at_most_once_and_is_answered_once(
    point: str, lives: Lives, sim: BoardSim, tmp_path: Path, unused_tcp_port: int
) -> None:
    config, state = tmp_path / "barnacle.toml", tmp_path / "state"
    state.mkdir(mode=0o700)
    async with llm_server.running(obey) as model:
        config.write_text(CONFIG.format(url=model.base_url, board=sim.port, port=unused_tcp_port))
        config.chmod(0o600)
        async with lives.begin(str(config), str(state), point) as life:
            assert await order(unused_tcp_port, life) == ("", {})
            assert await life.ended() == -signal.SIGKILL
        async with lives.begin(str(config), str(state), "") as life:
            told = [await order(unused_tcp_port, life) for _ in range(2)]
    # The board lets go of it with the agent, and takes it once more at most
    switched_on = [value for value, _ in sim.changes("led") if value]
    assert len(switched_on) <= 1
    assert [kind for kind, _ in told] == ["handled", "handled"]
    [text] = {str(data["text"]) for _, data in told}
    assert text == "The led is on now." or "I was interrupted" in text
