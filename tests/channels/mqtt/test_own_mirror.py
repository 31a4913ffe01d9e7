"""The device itself at a real broker: what is shown of it, and the stop that comes from there."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.channels.base import Answer, Question
from agent.channels.mqtt.channel import MqttChannel, MqttShown, broker_of
from agent.channels.mqtt.own_mirror import OwnState, UpdateState
from agent.channels.settings import MqttSettings
from agent.messages import Address, Inbound
from agent.system.clock import SystemClock
from tests.contracts.listener import listening
from tests.fakes import mosquitto, mqtt_peer
from tests.fakes.board import FakeBoard
from tests.fakes.mqtt_peer import MqttPeer
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)


@dataclass
class Place:
    """A channel at a broker, and the state that it shows; `tell` changes it."""

    port: int
    peer: MqttPeer
    folder: Path
    state: OwnState = field(default_factory=OwnState)
    has_access: bool = True
    asked: list[Inbound] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def look(self) -> OwnState:
        self.changed.clear()
        return self.state

    async def change(self, within_s: float) -> None:
        del within_s
        await self.changed.wait()

    def tell(self, state: OwnState) -> None:
        self.state = state
        self.changed.set()

    def channel(self, prefix: str = "homeassistant") -> MqttChannel:
        url = f"mqtt://127.0.0.1:{self.port}"
        wanted = MqttSettings(url=url, every_s=5, home_assistant=prefix)
        shown = MqttShown(own=self, knows=self._knows)
        clock = SystemClock()
        return MqttChannel(wanted, broker_of(wanted, {}), self.folder, [FakeBoard()], clock, shown)

    def shown(self, topic: str) -> Any:
        payload = self.peer.shows(topic)
        return json.loads(payload) if payload else None

    def described(self, kind: str, name: str) -> Any:
        found = [topic for topic, _ in self.peer.came if topic.endswith(f"-own_{name}/config")]
        return next((self.shown(one) for one in found if f"/{kind}/" in one), None)

    def _knows(self, message: Inbound) -> bool:
        self.asked.append(message)
        return self.has_access


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with mosquitto.running(tmp_path) as broker, mqtt_peer.at(broker.port) as peer:
        yield Place(broker.port, peer, tmp_path / "mqtt")


async def test_a_stop_and_what_hurts_are_shown_at_once_with_their_reasons(place: Place) -> None:
    async with listening(place.channel()):
        await wait_until(lambda: place.shown("barnacle/health"))
        assert place.shown("barnacle/estop") == {"state": "off", "reason": ""}
        assert place.shown("barnacle/health") == {"state": "off", "troubles": []}
        place.tell(OwnState("by anna on telegram", ("the machine is hot",)))
        await wait_until(lambda: place.shown("barnacle/health")["state"] == "on")
        stop = {"state": "on", "reason": "by anna on telegram"}
        assert place.shown("barnacle/estop") == stop
        assert place.shown("barnacle/health")["troubles"] == ["the machine is hot"]
    assert place.described("binary_sensor", "emergency_stop")["device_class"] == "safety"
    assert place.described("binary_sensor", "health")["entity_category"] == "diagnostic"
    # No update where the system has none
    assert place.peer.shows("barnacle/update") is None
    assert place.described("update", "system") is None


async def test_a_watch_that_is_removed_is_taken_back(place: Place) -> None:
    place.state = OwnState(watches={"dry": True, "shed/door": None})
    async with listening(place.channel()):
        await wait_until(lambda: place.described("binary_sensor", "watch_dry"))
        assert place.peer.shows("barnacle/watch/dry") == b"on"
        assert place.peer.shows("barnacle/watch/shed_door") == b"None"
        about = place.described("binary_sensor", "watch_dry")
        assert (about["device_class"], about["expire_after"]) == ("problem", 20)
        place.tell(OwnState(watches={"shed/door": False}))
        await wait_until(lambda: place.peer.shows("barnacle/watch/shed_door") == b"off")
        await wait_until(lambda: place.described("binary_sensor", "watch_dry") is None)


async def test_what_went_while_the_agent_was_off_is_taken_back(place: Place) -> None:
    """A broker keeps for ever what describes a watch that is no more, or a stop for nobody."""
    place.state = OwnState(watches={"dry": True, "door": False})
    async with listening(place.channel()):
        await wait_until(lambda: place.described("button", "emergency_stop"))
        await wait_until(lambda: place.described("binary_sensor", "watch_dry"))
    place.state, place.has_access = OwnState(watches={"door": True}), False
    place.peer.came.clear()
    async with listening(place.channel()):
        await wait_until(lambda: place.peer.shows("barnacle/watch/door") == b"on")
        await wait_until(lambda: len(taken_back(place)) > 1)
        kept = place.folder / "described-own.json"
        await wait_until(lambda: "watch_dry" not in kept.read_text())
    gone = {topic.partition("-own_")[2] for topic in taken_back(place)}
    assert gone == {"watch_dry/config", "emergency_stop/config"}
    assert place.described("binary_sensor", "emergency_stop")
    # Once for all
    place.peer.came.clear()
    async with listening(place.channel(prefix="")):
        await wait_until(lambda: place.described("binary_sensor", "emergency_stop") is None)
        await wait_until(lambda: taken_back(place))
        assert not [one for one in taken_back(place) if one.endswith("watch_dry/config")]


def taken_back(place: Place) -> list[str]:
    return [topic for topic, payload in place.peer.came if not payload]


async def test_an_update_says_what_is_there_and_what_became_of_it(place: Place) -> None:
    place.state = OwnState(update=UpdateState("0.2.0"))
    async with listening(place.channel()):
        await wait_until(lambda: place.described("update", "system"))
        # Nobody knows of a newer one
        told = {"installed_version": "0.2.0", "release_summary": "", "in_progress": False}
        assert place.shown("barnacle/update") == told
        why = "Version 0.3.0 is not kept: it does not start. " * 9
        place.tell(OwnState(update=UpdateState("0.2.0", "0.3.0", why, is_tried=True)))
        await wait_until(lambda: place.shown("barnacle/update")["in_progress"])
        told = place.shown("barnacle/update")
        assert told["latest_version"] == "0.3.0"
        assert told["release_summary"] == why[:255]


@pytest.mark.parametrize("payload", ["clear", "off", "", "stop now", "/estop clear", "x" * 100])
async def test_only_one_word_stops_and_none_ends_a_stop(place: Place, payload: str) -> None:
    async with listening(place.channel()) as listener:
        await wait_until(lambda: place.peer.shows("barnacle/status") == b"online")
        place.peer.publish("barnacle/estop/set", payload)
        place.peer.publish("barnacle/estop/set", "stop", retain=True)
        [heard] = await listener.first()
        assert (heard.text, heard.sender, heard.channel) == ("/estop", "home", "mqtt")


async def test_a_stop_that_nobody_heard_is_heard_after_the_next_start(place: Place) -> None:
    async with listening(place.channel()):
        await wait_until(lambda: place.peer.shows("barnacle/status") == b"online")
    place.peer.publish("barnacle/estop/set", "stop")
    async with listening(place.channel()) as listener:
        [heard] = await listener.first()
        assert heard.text == "/estop"


async def test_there_is_a_button_only_while_it_does_something(place: Place) -> None:
    place.has_access = False
    async with listening(place.channel()):
        await wait_until(lambda: place.described("binary_sensor", "emergency_stop"))
        assert place.described("button", "emergency_stop") is None
        place.has_access = True
        place.tell(OwnState())
        button = await wait_until(lambda: place.described("button", "emergency_stop"))
        assert button["command_topic"] == "barnacle/estop/set"
        assert button["payload_press"] == "stop"
        place.has_access = False
        place.tell(OwnState())
        await wait_until(lambda: place.described("button", "emergency_stop") is None)
    assert {(one.channel, one.sender) for one in place.asked} == {("mqtt", "home")}


async def test_without_a_prefix_it_is_shown_and_not_described(place: Place) -> None:
    async with listening(place.channel(prefix="")):
        await wait_until(lambda: place.shown("barnacle/health"))
    assert [topic for topic, _ in place.peer.came if topic.endswith("/config")] == []


async def test_the_home_is_asked_nothing_and_answers_nothing(place: Place) -> None:
    channel = place.channel()
    async with listening(channel) as listener:
        await wait_until(lambda: place.peer.shows("barnacle/status") == b"online")
        question = Question("board_gpio_write", "{}", "why")
        asked = await channel.ask(Address("mqtt", "home", "home"), question)
        assert asked is Answer.NONE
        waiting = asyncio.ensure_future(channel.ask(Address("mqtt", "anna", "anna"), question))
        await wait_until(place.peer.told)
        place.peer.say(f"yes {question.question_id}", "home")
        [heard] = await listener.first()
        assert heard.sender == "home"
        assert not waiting.done()
        waiting.cancel()
