"""Mirror of the recorded readings at the broker: the newest value of each, with its time.

Every reading by the name that it is recorded under: of all boards, of this machine and of its pins.
"""

import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.home_assistant import HomeAssistantDevice, described_reading
from agent.channels.mqtt.messages import MqttTopics
from agent.errors import MessageRefused
from agent.readings.columns import ON_LEVEL
from agent.readings.series import Series
from agent.readings.summary import Moment
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

NewestReadings = Callable[[], Mapping[Series, Moment]]
# What a topic gives a meaning of its own
SPECIAL = re.compile(r"[+#/\x00]")


class ReadingMirror:
    """Shows what was recorded last."""

    def __init__(
        self, newest: NewestReadings, topics: MqttTopics, every_s: int, clock: Clock
    ) -> None:
        self._newest = newest
        self._topics = topics
        self._every_s = every_s
        self._clock = clock

    async def run(self, connection: MqttConnection, device: HomeAssistantDevice) -> None:
        """Publish what is new until the connection is gone.

        Raises:
            ChannelError: it is gone.
        """
        shown: dict[str, bytes] = {}
        while True:
            for topic, payload in self._messages(device).items():
                if shown.get(topic) != payload and await _is_published(connection, topic, payload):
                    shown[topic] = payload
            await self._clock.sleep(self._every_s)

    def _messages(self, device: HomeAssistantDevice) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for series, moment in self._newest().items():
            topic = self._topics.reading(SPECIAL.sub("_", series.name))
            found[topic] = _payload(series, moment)
            if not series.kind.is_board:
                # Those of boards are there by their pins
                found |= described_reading(series, topic, self._topics, device)
        return found


async def _is_published(connection: MqttConnection, topic: str, payload: bytes) -> bool:
    try:
        await connection.publish(topic, payload, retain=True)
    except MessageRefused as err:
        _log.warning("mqtt: reading not shown (topic=%s, reason=%s)", topic, err)
        return False
    return True


def _payload(series: Series, moment: Moment) -> bytes:
    value: object = moment.value
    if series.kind.is_switch:
        value = "on" if moment.value >= ON_LEVEL else "off"
    time = datetime.fromtimestamp(moment.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return msgspec.json.encode({"value": value, "unit": series.kind.unit, "time": time})
