"""Somebody at a broker who writes to a device and reads what it says."""

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from tests.waits import wait_until_sync

# A broker of this machine answers at once
_ANSWER_S = 10.0


class MqttPeer:
    """Subscribed to everything below `topic`, and to what Home Assistant would be told."""

    def __init__(self, port: int, topic: str = "barnacle", user: str = "", key: str = "") -> None:
        self.topic = topic
        self.port = port
        # In their order, whatever the topic
        self.came: list[tuple[str, bytes]] = []
        self._is_ready = threading.Event()
        self._marks = 0
        self._client = Client(CallbackAPIVersion.VERSION2, "peer", clean_session=True)
        if user:
            self._client.username_pw_set(user, key)
        self._client.on_subscribe = lambda *_: self._is_ready.set()
        self._client.on_message = self._take
        self._client.on_connect = lambda *_: self._client.subscribe([("#", 1)])
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        assert self._is_ready.wait(_ANSWER_S)

    def say(self, text: str, sender: str = "anna", **more: object) -> None:
        """Exactly, with an id."""
        self.publish(f"{self.topic}/in/{sender}", json.dumps({"text": text, **more}))

    def publish(self, topic: str, payload: str, *, retain: bool = False, quality: int = 1) -> None:
        told = self._client.publish(topic, payload, qos=quality, retain=retain)
        told.wait_for_publish(_ANSWER_S)
        assert told.is_published()

    def catch_up(self) -> None:
        """Return when everything has come that the broker had for us before."""
        self._marks += 1
        mark = (f"peer/{self._marks}", b"")
        self.publish(mark[0], "")
        wait_until_sync(lambda: mark in self.came, look_s=0.002)

    def told(self, who: str = "anna") -> list[dict[str, Any]]:
        """What was said to somebody, each message once however often it came."""
        found: dict[str, dict[str, Any]] = {}
        for topic, payload in self.came:
            if topic == f"{self.topic}/out/{who}":
                message = json.loads(payload)
                found.setdefault(message["id"], message)
        return list(found.values())

    def shows(self, topic: str) -> bytes | None:
        """What came last at a topic."""
        found = [payload for one, payload in self.came if one == topic]
        return found[-1] if found else None

    def unsubscribe(self) -> None:
        """Subscribe to nothing any more; the broker has confirmed it."""
        confirmed = threading.Event()
        self._client.on_unsubscribe = lambda *_: confirmed.set()
        self._client.unsubscribe("#")
        assert confirmed.wait(_ANSWER_S)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        # They hold this object, and the client closes its own sockets when nobody holds it
        self._client.on_subscribe = self._client.on_unsubscribe = None
        self._client.on_message = self._client.on_connect = None

    def _take(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        self.came.append((message.topic, bytes(message.payload)))


@contextlib.contextmanager
def at(port: int, **more: str) -> Iterator[MqttPeer]:
    peer = MqttPeer(port, **more)
    try:
        yield peer
    finally:
        peer.close()
