"""A sensor added by its configuration, asked, watched, and acted on by the board alone.

The session that the README shows, on real parts: a terminal, the agent, the link, the firmware.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.llm_thread import LlmThread
from tests.fakes.terminal_chat import TerminalChat
from tests.waits import stays_sync, wait_until_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

WORLD = {
    "values": {"temperature": 24.5, "air_temperature": 21.5, "humidity": 45, "button": 0},
    "devices": [{"kind": "bme280", "pin": "PB6"}],
}
ROOM = """
[board.pins.room]
kind = "bme280"
pin = "PB6"
sda = "PB7"
"""
REFLEX = "when room.humidity is above 60 switch the relay on for 2 s"
IN_WORDS = (
    "When room humidity is above 60 % (and until it is back at 58 %): relay on for 2 s, "
    "at most once every 1 min."
)
FOR_MS = 2_000
# A reading of the sensor is at most this old, and a pass of the board's loop ends soon after
SOON_S = 5.0
# The outputs are looked after every 10 ms; the rest is for a busy machine
LATE_MS = 150


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[BoardSim]:
    folder = tmp_path / "board"
    folder.mkdir()
    with BoardSim(folder, WORLD) as sim:
        yield sim


@pytest.fixture
def service() -> Iterator[LlmThread]:
    with LlmThread() as service:
        yield service


def test_a_sensor_is_added_asked_watched_and_acted_on_without_the_agent(
    sim: BoardSim, service: LlmThread, tmp_path: Path
) -> None:
    config = f'[provider]\nbase_url = "{service.server.base_url}"\n[board]\nport = "{sim.port}"\n'
    with TerminalChat(tmp_path, config) as chat:
        assert "No tool board_climate_read" in chat.say("what is the humidity of the room?")
        assert chat.leave() == 0

    with TerminalChat(tmp_path, config + ROOM) as chat:
        # The board takes its new configuration while the chat begins
        wait_until_sync(lambda: "firmware" in chat.say("/status"))
        assert "The humidity is 45.0 %." in chat.say("what is the humidity of the room?")
        assert "high_humidity" in chat.say("tell me when room.humidity goes above 55")
        chat.type(REFLEX)
        question = chat.sees("[a]lways: ")
        assert f"The board will do this by itself, also without me: {IN_WORDS}" in question
        chat.type("y")
        assert IN_WORDS in chat.sees("\n> ")

        sim.set(humidity=56)
        assert "high_humidity: room.humidity is 5" in chat.sees(" %.")
        assert sim.value("relay") == 0
        chat.kill()

    sim.set(humidity=65)
    wait_until_sync(lambda: sim.value("relay") == 1, SOON_S)
    wait_until_sync(lambda: sim.value("relay") == 0, SOON_S)
    (_, on_ms), (_, off_ms) = sim.changes("relay")[-2:]
    assert FOR_MS - LATE_MS <= off_ms - on_ms <= FOR_MS + LATE_MS
    # At most once a minute, however damp it stays
    stays_sync(lambda: sim.changes("relay")[-1] == (0, off_ms), 1.0)
