"""MQTT for the checks that every platform passes: a real broker, on a line that can be cut."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

from agent.channels.base import Answer, Question
from agent.channels.mqtt.channel import MqttChannel, broker_of
from agent.channels.settings import MqttSettings
from agent.messages import Inbound
from agent.system.clock import SystemClock
from tests.fakes import mosquitto, mqtt_peer, relay
from tests.fakes.board import FakeBoard
from tests.fakes.mqtt_peer import MqttPeer
from tests.fakes.relay import Relay
from tests.waits import wait_until

WHO = "anna"


class MqttPlatform:
    """Anna at a broker."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "a_group_hears_only_who_calls": "has no groups: a topic is one writer's",
            "a_wish_to_be_left_alone_is_handed_on": "has no such wish that a broker ever says",
        }
    )

    def __init__(self, peer: MqttPeer, line: Relay, folder: Path) -> None:
        self.peer = peer
        self.board = FakeBoard()
        self._line = line
        self._folder = folder
        self._count = 0
        self.channel = self.restarted()

    def restarted(self) -> MqttChannel:
        wanted = MqttSettings(url=f"mqtt://127.0.0.1:{self._line.port}", every_s=5)
        return MqttChannel(wanted, broker_of(wanted, {}), self._folder, [self.board], SystemClock())

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        # A broker keeps nothing for whom it does not know yet
        await wait_until(lambda: self.peer.shows("barnacle/status"))
        self._count += 1
        self.peer.say(text, WHO, id=f"said-{self._count}")

    async def write_in_thread(self, text: str) -> bool:
        await wait_until(lambda: self.peer.shows("barnacle/status"))
        self._count += 1
        self.peer.say(text, WHO, id=f"said-{self._count}", thread="greenhouse")
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        raise AssertionError("there are no files")

    async def repeat(self) -> None:
        self.peer.say("once", WHO, id=f"said-{self._count}")

    def shown(self, inbound: Inbound) -> list[str]:
        self.peer.catch_up()
        told = self.peer.told(inbound.reply_target)
        return [one["text"] for one in told if one.get("thread") == inbound.thread]

    def files(self) -> list[bytes]:
        return []

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self._line.cuts_next_bytes = True

    def cut_listening(self) -> None:
        self._line.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")


@contextlib.asynccontextmanager
async def running(folder: Path, *lines: str) -> AsyncIterator[MqttPlatform]:
    """Start a broker with these lines in its configuration, and a line to it."""
    with mosquitto.running(folder, *lines) as broker, mqtt_peer.at(broker.port) as peer:
        async with relay.running(broker.port) as line:
            yield MqttPlatform(peer, line, folder / "mqtt")
