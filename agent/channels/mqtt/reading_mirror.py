"""Mirror of the recorded readings at the broker: the newest value of each, with its time.

Every reading by the name that it is recorded under: of all boards, of this machine and of its pins.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

import msgspec

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.home_assistant import HomeAssistantDevice, described_reading
from agent.channels.mqtt.messages import MqttTopics
from agent.channels.mqtt.retained import EARLIER, keep
from agent.readings.columns import ON_LEVEL
from agent.readings.series import Series
from agent.readings.summary import Moment
from agent.system.clock import Clock

NewestReadings = Callable[[], Mapping[Series, Moment]]
# What a topic gives a meaning of its own
SPECIAL = re.compile(r"[+#/\x00]")


class ReadingMirror:
    """Shows what was recorded last.

    Args:
        described: what was described before this start.
    """

    def __init__(
        self,
        newest: NewestReadings,
        topics: MqttTopics,
        every_s: int,
        clock: Clock,
        described: DescribedTopics,
    ) -> None:
        self._newest = newest
        self._topics = topics
        self._every_s = every_s
        self._clock = clock
        self._described = described
        self._known: dict[str, bytes] = {}

    async def run(self, connection: MqttConnection, device: HomeAssistantDevice) -> None:
        """Publish what is new until the connection is gone.

        Raises:
            ChannelError: it is gone.
        """
        change = partial(self._clock.sleep, self._every_s)
        # What is not recorded yet in this run is there all the same
        if here := device.prefix:
            every = await self._described.every()
            self._known |= {one: EARLIER for one in every if one.startswith(f"{here}/")}
        look = partial(self._messages, device)
        await keep(connection, look, change, self._described, repeats=False)

    async def _messages(self, device: HomeAssistantDevice) -> Mapping[str, bytes]:
        """Return all that was ever shown: what is recorded no more has its time beside it."""
        for series, moment in self._newest().items():
            topic = self._topics.reading(SPECIAL.sub("_", series.name))
            self._known[topic] = _payload(series, moment)
            if not series.kind.is_board:
                # Those of boards are there by their pins
                self._known |= described_reading(series, topic, self._topics, device)
        return dict(self._known)


def _payload(series: Series, moment: Moment) -> bytes:
    value: object = moment.value
    if series.kind.is_switch:
        value = "on" if moment.value >= ON_LEVEL else "off"
    time = datetime.fromtimestamp(moment.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return msgspec.json.encode({"value": value, "unit": series.kind.unit, "time": time})
