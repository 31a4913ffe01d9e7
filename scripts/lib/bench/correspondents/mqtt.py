"""People at a mosquitto."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from scripts.lib.bench.correspondents.base import Correspondents, Line
from tests.fakes import mosquitto, mqtt_peer
from tests.fakes.mqtt_peer import MqttPeer
from tests.waits import wait_until

_PATIENCE_S = 60.0


class MqttPeople(Correspondents):
    """People with a topic each."""

    name = "mqtt"

    def __init__(self, peer: MqttPeer, line: Line, count: int) -> None:
        self.lines = (line,)
        self._peer = peer
        self._read = 0
        # Answers by their id: the same id is the same answer, however often it comes
        self._answers: dict[str, str] = {}
        self._people = [f"anna{number}" for number in range(count)]
        self.table = f'[channels.mqtt]\nurl = "mqtt://127.0.0.1:{line.relay.port}"\n'
        self.accounts = [
            PersonAccount(channel="mqtt", sender=one, target=one) for one in self._people
        ]

    async def ready(self) -> None:
        status = f"{self._peer.topic}/status"
        await wait_until(lambda: self._peer.shows(status) == b"online", _PATIENCE_S)

    async def write(self, person: int, text: str) -> None:
        known = text.replace(" ", "-")
        await asyncio.to_thread(self._peer.say, text, self._people[person], id=known)

    async def answers(self) -> Counter[str]:
        came = self._peer.came[self._read :]
        self._read += len(came)
        for topic, payload in came:
            if topic.startswith(f"{self._peer.topic}/out/"):
                told = json.loads(payload)
                self._answers[told["id"]] = told["text"]
        return Counter(self._answers.values())


@contextlib.asynccontextmanager
async def on_mosquitto(folder: Path, people: int) -> AsyncIterator[MqttPeople]:
    if reason := mosquitto.unavailable_reason():
        pytest.skip(reason)
    with mosquitto.running(folder) as broker, mqtt_peer.at(broker.port) as peer:
        line = Line(broker.port)
        await line.relay.start()
        try:
            yield MqttPeople(peer, line, people)
        finally:
            await line.relay.stop()
