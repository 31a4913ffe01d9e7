"""The recorded readings at a real broker: each with its unit and its time."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.channels.mqtt.channel import MqttChannel, MqttShown, broker_of
from agent.channels.settings import MqttSettings
from agent.readings.series import Series, SeriesKind
from agent.readings.summary import Moment
from agent.system.clock import SystemClock
from tests.contracts.listener import listening
from tests.fakes import mosquitto, mqtt_peer
from tests.fakes.board import FakeBoard
from tests.fakes.mqtt_peer import MqttPeer
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)
# 2026-05-01 14:03:20.125 UTC
AT_MS = 1_777_644_200_125
HEAT = Series(1, SeriesKind("machine.temperature", "°C", is_board=False), 60)
FAN = Series(2, SeriesKind("pi:fan", is_switch=True, is_board=False), 60)
TANK = Series(3, SeriesKind("garden:tank", "cm"), 60)
STRANGE = Series(4, SeriesKind("a/+#b"), 60)


@dataclass
class Place:
    """A channel at a broker, and the readings that it shows."""

    port: int
    peer: MqttPeer
    folder: Path
    newest: dict[Series, Moment] = field(default_factory=dict)

    def channel(self, *, readings: bool = True, prefix: str = "homeassistant") -> MqttChannel:
        wanted = MqttSettings(
            url=f"mqtt://127.0.0.1:{self.port}",
            every_s=5,
            readings=readings,
            home_assistant=prefix,
        )
        broker = broker_of(wanted, {})
        clock = SystemClock()
        shown = MqttShown(lambda: self.newest)
        return MqttChannel(wanted, broker, self.folder, [FakeBoard()], clock, shown)

    def shown(self, topic: str) -> dict[str, Any]:
        payload = self.peer.shows(topic)
        return json.loads(payload) if payload else {}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with mosquitto.running(tmp_path) as broker, mqtt_peer.at(broker.port) as peer:
        yield Place(broker.port, peer, tmp_path / "mqtt")


async def test_each_reading_is_there_with_its_unit_and_its_time(place: Place) -> None:
    place.newest = {
        HEAT: Moment(48.3, AT_MS),
        FAN: Moment(1.0, AT_MS),
        TANK: Moment(12.5, AT_MS),
        STRANGE: Moment(1.0, AT_MS),
    }
    async with listening(place.channel()):
        await wait_until(lambda: place.shown("barnacle/reading/a___b"))
    time = "2026-05-01T14:03:20.125+00:00"
    assert place.shown("barnacle/reading/machine.temperature") == {
        "value": 48.3,
        "unit": "°C",
        "time": time,
    }
    assert place.shown("barnacle/reading/pi:fan") == {"value": "on", "unit": "", "time": time}
    assert place.shown("barnacle/reading/garden:tank")["value"] == 12.5


async def test_a_new_value_is_shown_and_an_old_one_is_not_said_again(place: Place) -> None:
    place.newest = {HEAT: Moment(48.3, AT_MS), TANK: Moment(12.5, AT_MS)}
    async with listening(place.channel(prefix="")):
        await wait_until(lambda: place.shown("barnacle/reading/garden:tank"))
        place.newest = {HEAT: Moment(49.0, AT_MS + 60_000), TANK: Moment(12.5, AT_MS)}
        await wait_until(
            lambda: place.shown("barnacle/reading/machine.temperature").get("value") == 49.0
        )
    said = [topic for topic, _ in place.peer.came if topic == "barnacle/reading/garden:tank"]
    assert len(said) == 1


async def test_home_assistant_finds_what_is_of_no_board(place: Place) -> None:
    place.newest = {series: Moment(1.0, AT_MS) for series in (HEAT, FAN, TANK)}
    async with listening(place.channel()):
        await wait_until(lambda: _described(place, "pi_fan"))
    (heat,) = _described(place, "machine_temperature")
    assert heat["state_topic"] == "barnacle/reading/machine.temperature"
    assert (heat["unit_of_measurement"], heat["device_class"]) == ("°C", "temperature")
    assert (heat["value_template"], heat["expire_after"]) == ("{{ value_json.value }}", 240)
    (fan,) = _described(place, "pi_fan")
    assert (fan["payload_on"], fan["payload_off"]) == ("on", "off")
    assert not _described(place, "garden_tank")


async def test_nothing_is_shown_that_was_not_asked_for(place: Place) -> None:
    place.newest = {HEAT: Moment(48.3, AT_MS)}
    async with listening(place.channel(readings=False)):
        await wait_until(lambda: place.peer.shows("barnacle/board/board/pump"))
    assert not [topic for topic, _ in place.peer.came if "reading" in topic]


async def test_readings_that_are_shown_no_more_are_taken_back(place: Place) -> None:
    place.newest = {HEAT: Moment(48.3, AT_MS)}
    async with listening(place.channel()):
        await wait_until(lambda: _described(place, "machine_temperature"))
    kept = place.folder / "described-readings.json"
    # What nothing was recorded of yet in this run is still described
    place.newest = {FAN: Moment(1.0, AT_MS)}
    async with listening(place.channel()):
        await wait_until(lambda: _described(place, "pi_fan"))
    topic = next(one for one, _ in place.peer.came if one.endswith("temperature/config"))
    assert place.peer.shows(topic)
    async with listening(place.channel(readings=False)):
        await wait_until(lambda: place.peer.shows(topic) == b"")
        await wait_until(lambda: kept.read_text() == "[]")
    place.peer.came.clear()
    async with listening(place.channel(readings=False)):
        await wait_until(lambda: place.peer.shows("barnacle/board/board/pump"))
    assert not [one for one, _ in place.peer.came if "reading" in one]


def _described(place: Place, name: str) -> list[dict[str, Any]]:
    return [
        json.loads(payload)
        for topic, payload in place.peer.came
        if topic.endswith(f"_reading_{name}/config") and payload
    ]
