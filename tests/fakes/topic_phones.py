"""Anna's phone where both write to topics: a real MQTT broker's, and a pretended ntfy server's."""

import contextlib
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from agent.channels.mqtt.channel import broker_of
from agent.channels.mqtt.client import connected
from agent.channels.mqtt.messages import MqttTopics
from agent.channels.mqtt.session import MqttState
from agent.channels.ntfy.channel import NtfyCursor
from agent.channels.settings import MqttSettings
from agent.system.clock import SystemClock
from tests.fakes import mosquitto, mqtt_peer, ntfy_server
from tests.fakes.mosquitto import Mosquitto
from tests.fakes.mqtt_peer import MqttPeer
from tests.fakes.ntfy_platform import TOPIC
from tests.fakes.ntfy_server import NtfyServer
from tests.fakes.phones import Phone

WHO = "anna"
_NO_REFUSAL = "nothing here refuses a message for good"


class MqttPhone(Phone):
    """It writes plain text, to which the broker gives a number and nobody an id."""

    def __init__(self, broker: Mosquitto, peer: MqttPeer) -> None:
        self._peer = peer
        self._wanted = MqttSettings(url=f"mqtt://127.0.0.1:{broker.port}", home_assistant="")
        self.account = PersonAccount(channel="mqtt", sender=WHO, target=WHO)
        self.config = f'[channels.mqtt]\nurl = "{self._wanted.url}"\nhome_assistant = ""\n'

    async def join(self, state: Path) -> None:
        await super().join(state)
        # Without a session nothing is kept of what was there before the agent
        session = MqttState(state / "mqtt" / "session.json", SystemClock())
        known = await session.client_id()
        async with connected(broker_of(self._wanted, {}), known, lambda: None) as connection:
            await connection.subscribe([(MqttTopics(self._wanted.topic).inbox, 1)])
        # What waits from now on is no older than this
        await session.note(time.time())

    async def write(self, text: str) -> None:
        self._peer.publish(f"barnacle/in/{WHO}", text)

    def shown(self) -> list[str]:
        """However often each came, though it says which one it is."""
        self._peer.catch_up()
        came = [payload for topic, payload in self._peer.came if topic == f"barnacle/out/{WHO}"]
        return [json.loads(payload)["text"] for payload in came]

    def refuse_one(self) -> None:
        raise AssertionError(_NO_REFUSAL)


class NtfyPhone(Phone):
    def __init__(self, server: NtfyServer) -> None:
        self._server = server
        self.account = PersonAccount(channel="ntfy", sender=TOPIC, target=TOPIC)
        self.config = f'[channels.ntfy]\nbase_url = "{server.url}"\ntopic = "{TOPIC}"\n'

    async def join(self, state: Path) -> None:
        await super().join(state)
        # Without a position nothing comes of what was there before the agent
        position = NtfyCursor(state / "ntfy" / "position.json", TOPIC)
        await position.advance(str(int(time.time())))

    async def write(self, text: str) -> None:
        self._server.publish(TOPIC, text)

    def shown(self) -> list[str]:
        return [one["message"] for one in self._server.cache if "robot" in one.get("tags", ())]

    def refuse_one(self) -> None:
        raise AssertionError(_NO_REFUSAL)


@contextlib.asynccontextmanager
async def on_mqtt() -> AsyncIterator[Phone]:
    if reason := mosquitto.unavailable_reason():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory() as folder,
        mosquitto.running(Path(folder)) as broker,
        mqtt_peer.at(broker.port) as peer,
    ):
        yield MqttPhone(broker, peer)


@contextlib.asynccontextmanager
async def on_ntfy() -> AsyncIterator[Phone]:
    async with ntfy_server.running(NtfyServer()) as server:
        yield NtfyPhone(server)


TOPIC_PHONES: dict[str, Callable[[], AbstractAsyncContextManager[Phone]]] = {
    "mqtt": on_mqtt,
    "ntfy": on_ntfy,
}
