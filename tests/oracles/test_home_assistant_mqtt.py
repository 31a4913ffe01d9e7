"""The real Home Assistant at a real broker: what it shows of the device, and what it may do."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.security.estop import FILE_NAME
from tests.fakes import board_sim, mosquitto, mqtt_peer
from tests.fakes.board_sim import BoardSim
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.home_assistant_process import HomeAssistantProcess, absence, home_assistant
from tests.fakes.mqtt_peer import MqttPeer
from tests.waits import wait_until

pytestmark = [
    pytest.mark.skipif(bool(absence()), reason=absence()),
    pytest.mark.skipif(
        mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
    ),
    pytest.mark.skipif(
        board_sim.unavailable_reason() is not None, reason=str(board_sim.unavailable_reason())
    ),
]
PREFIX = "homeassistant/"
CONFIG = """
[provider]
kind = "offline"
[embeddings]
provider = "none"
[channels.mqtt]
url = "mqtt://127.0.0.1:{broker}"
every_s = 5
readings = true
[readings]
record = "10s"
[board]
port = "{port}"
[board.watch.door]
pin = "button"
becomes = "on"
[board.watch.warm]
pin = "mcu_temperature"
above = 200.0
[board.pins]
arm = {{pin = "PA6", kind = "servo"}}
fan = {{pin = "PA8", kind = "pwm", frequency = 2000}}
room = {{pin = "PB6", kind = "bme280", sda = "PB7"}}
shed = {{pin = "PB13", kind = "dht22"}}
tank = {{pin = "PB12", kind = "ds18b20"}}
air = {{pin = "PB8", kind = "scd4x", sda = "PB9"}}
"""


@dataclass
class House:
    """A device, its broker, Home Assistant there, and somebody who writes to the device."""

    folder: Path
    home: HomeAssistantProcess
    peer: MqttPeer
    agent: DaemonProcess
    sim: BoardSim

    @property
    def is_stopped(self) -> bool:
        return (self.folder / "state" / FILE_NAME).exists()

    async def pair(self) -> None:
        """Make anna the owner, and the home a user."""
        await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", self.agent.log()))
        code = re.search(r"/pair ([A-Z0-9-]+)", self.agent.log())
        assert code is not None
        # Nobody keeps what is said before it subscribes
        await wait_until(lambda: self.peer.shows("barnacle/status") == b"online")
        await self.say(code[0], "my owner")
        told = await self.say("/pair new user home", "/pair [A-Z0-9-]+")
        await self.home_says(told)

    async def say(self, text: str, answer: str) -> str:
        """Return what of anna's answer matches."""
        self.peer.say(text)
        return await wait_until(lambda: self.found(answer))

    def found(self, pattern: str, who: str = "anna") -> str:
        said = "\n".join(one["text"] for one in self.peer.told(who))
        found = re.findall(pattern, said)
        return str(found[-1]) if found else ""

    async def home_says(self, text: str) -> None:
        """Write as the home, by its own service."""
        await self.home.call("mqtt", "publish", topic="barnacle/in/home", payload=text)

    async def shows(self, entity: str, state: str) -> dict[str, Any]:
        """Return an entity when it is in that state."""

        async def look() -> dict[str, Any] | None:
            found = (await self.home.entities()).get(entity)
            return found if found is not None and found["state"] == state else None

        return await wait_until(look)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    with (
        mosquitto.running(tmp_path) as broker,
        mqtt_peer.at(broker.port) as peer,
        BoardSim(tmp_path, {"values": {"temperature": 24.5, "button": 0}, "script": []}) as sim,
    ):
        async with home_assistant(tmp_path / "home-assistant") as home:
            await home.join(broker.port)
            config = CONFIG.format(broker=broker.port, port=sim.port)
            with DaemonProcess(tmp_path, config) as agent:
                made = House(tmp_path, home, peer, agent, sim)
                await made.pair()
                yield made


@pytest.mark.timeout(300)
async def test_it_shows_the_device_as_what_it_is(house: House) -> None:
    """Stop, health, watches, pins and readings, by its own schemas and in its own states."""
    stop = await house.shows("binary_sensor emergency stop", "off")
    assert stop["class"] == "safety"
    link = await house.shows("binary_sensor connection", "on")
    assert (link["class"], link["category"]) == ("connectivity", "diagnostic")
    # Whatever hurts a simulated board on a busy machine
    state = json.loads(house.peer.shows("barnacle/health") or b"{}")["state"]
    health = await house.shows("binary_sensor health", state)
    assert (health["class"], health["category"]) == ("problem", "diagnostic")
    await house.shows("binary_sensor watch warm", "off")
    # Nobody has seen it change
    await house.shows("binary_sensor watch door", "unknown")
    house.sim.set(button=1)
    door = await house.shows("binary_sensor watch door", "on")
    assert door["class"] == "problem"
    house.sim.set(button=0)
    await house.shows("binary_sensor watch door", "off")
    await house.shows("switch led", "off")
    await wait_until(lambda: _described(house.peer, "_reading_machine"))
    messages = _described(house.peer)
    assert len({topic.split("/")[1] for topic in messages}) >= 5
    assert await house.home.problems(messages) == {}


@pytest.mark.timeout(300)
async def test_its_button_stops_everything_and_nothing_of_it_ends_that(house: House) -> None:
    button = await house.shows("button emergency stop", "unknown")
    await house.home.call("button", "press", entity_id=button["entity"])
    await wait_until(lambda: house.is_stopped)
    stop = await house.shows("binary_sensor emergency stop", "on")
    assert re.fullmatch(r"by p[0-9a-f]+ on mqtt", stop["attributes"]["reason"])
    # Whatever it writes wherever it may
    for payload in ("clear", "off", "release", "/estop clear", ""):
        await house.home.call("mqtt", "publish", topic="barnacle/estop/set", payload=payload)
    await house.home.call(
        "mqtt", "publish", topic="barnacle/estop", payload='{"state": "off"}', retain=True
    )
    await house.home_says("/estop clear")
    await wait_until(lambda: house.found("You may not use that command", "home"))
    owners = await house.say("/pair new owner", "/pair [A-Z0-9-]+")
    await house.home_says(owners)
    await house.home_says("release the emergency stop")
    await wait_until(lambda: len(house.peer.told("home")) > 3)
    assert house.is_stopped
    await house.shows("binary_sensor emergency stop", "on")
    await house.say("/estop clear", "emergency stop is cleared")
    assert not house.is_stopped
    await house.shows("binary_sensor emergency stop", "off")


@pytest.mark.timeout(300)
async def test_a_device_that_is_gone_says_so_and_a_home_without_access_has_no_button(
    house: House,
) -> None:
    await house.shows("button emergency stop", "unknown")
    people = await house.say("/pair new guest somebody", "/pair [A-Z0-9-]+")
    assert people
    house.agent.kill()
    await house.shows("binary_sensor connection", "off")
    await house.shows("binary_sensor emergency stop", "unavailable")
    await house.shows("button emergency stop", "unavailable")


def _described(peer: MqttPeer, name: str = "") -> dict[str, Any]:
    """Return the discovery messages, by topic."""
    return {
        topic: json.loads(payload)
        for topic, payload in peer.came
        if topic.startswith(PREFIX) and topic.endswith("/config") and name in topic and payload
    }
