"""Mirror of the device itself at the broker: emergency stop, health, update and watches.

Home Assistant shows each as what it is. The stop has a button where the home may use it, and
nothing there ends one.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

import msgspec
from msgspec import Struct

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.home_assistant import (
    DIAGNOSTIC,
    EXPIRY_IN_LOOKS,
    HomeAssistantDevice,
    described_own,
)
from agent.channels.mqtt.messages import OFFLINE, ONLINE, STOP, MqttTopics
from agent.channels.mqtt.reading_mirror import SPECIAL
from agent.channels.mqtt.retained import keep

# What Home Assistant takes for "nobody knows"
_UNKNOWN = "None"
_SWITCHED = {True: "on", False: "off", None: _UNKNOWN}
_ON_OFF = {"payload_on": "on", "payload_off": "off"}
# Of a state that has attributes beside it
_STATE = {"value_template": "{{ value_json.state }}"}
# Of a state that has attributes beside it: those attributes
_ATTRIBUTES = "{{ dict(value_json.items() | rejectattr('0', 'eq', 'state')) | tojson }}"
# Home Assistant shows no more
_MOST_SUMMARY_CHARS = 255


class UpdateState(Struct, frozen=True):
    """System update of the device.

    Args:
        latest: the newest version that was ever here; empty where none but this one was.
        told: what became of it.
    """

    installed: str
    latest: str = ""
    told: str = ""
    is_tried: bool = False


class OwnState(Struct, frozen=True):
    """State of the device itself.

    Args:
        stopped: why the emergency stop is set; empty while it is not.
        troubles: sentences; none while all is well.
        watches: true for those whose condition holds; None where nobody knows.
        update: None where the system has no updates of its own.
    """

    stopped: str = ""
    troubles: tuple[str, ...] = ()
    watches: Mapping[str, bool | None] = {}
    update: UpdateState | None = None


class OwnStates(Protocol):
    """Source of the state."""

    async def look(self) -> OwnState: ...

    async def change(self, within_s: float) -> None:
        """Wait for a change that is shown at once, or so long."""


class OwnMirror:
    """Mirror of the device.

    Args:
        may_stop: says whether the home may use the button now.
        described: what was described before this start.
    """

    def __init__(
        self,
        source: OwnStates,
        topics: MqttTopics,
        every_s: int,
        may_stop: Callable[[], bool],
        described: DescribedTopics,
    ) -> None:
        self._source = source
        self._topics = topics
        self._every_s = every_s
        self._may_stop = may_stop
        self._described_topics = described

    async def run(self, connection: MqttConnection, device: HomeAssistantDevice) -> None:
        """Keep the broker up to date until the connection is gone.

        Raises:
            ChannelError: it is gone.
        """
        change = partial(self._source.change, self._every_s)
        look = partial(self._messages, device)
        await keep(connection, look, change, self._described_topics, repeats=True)

    async def _messages(self, device: HomeAssistantDevice) -> Mapping[str, bytes]:
        state = await self._source.look()
        return {**self._values(state), **dict(self._described(state, device))}

    def _values(self, state: OwnState) -> dict[str, bytes]:
        topics = self._topics
        told: dict[str, object] = {
            topics.stop: {"state": _SWITCHED[bool(state.stopped)], "reason": state.stopped},
            topics.health: {
                "state": _SWITCHED[bool(state.troubles)],
                "troubles": list(state.troubles),
            },
        }
        if state.update is not None:
            told[topics.update] = _update(state.update)
        found = {topic: msgspec.json.encode(value) for topic, value in told.items()}
        for name, is_raised in state.watches.items():
            found[self._watch(name)] = _SWITCHED[is_raised].encode()
        return found

    def _watch(self, name: str) -> str:
        return self._topics.watch(SPECIAL.sub("_", name))

    def _described(
        self, state: OwnState, device: HomeAssistantDevice
    ) -> Iterator[tuple[str, bytes]]:
        for kind, name, about in self._entities(state):
            yield from described_own(kind, name, about, self._topics, device).items()

    def _entities(self, state: OwnState) -> Iterator[tuple[str, str, Mapping[str, object]]]:
        topics = self._topics
        attributes = {**_STATE, **_ON_OFF, "json_attributes_template": _ATTRIBUTES}
        yield "binary_sensor", "connection", _connection(topics)
        stop = {"state_topic": topics.stop, "json_attributes_topic": topics.stop}
        yield "binary_sensor", "emergency stop", {**attributes, **stop, "device_class": "safety"}
        health = {"state_topic": topics.health, "json_attributes_topic": topics.health}
        problem = {"device_class": "problem", **DIAGNOSTIC}
        yield "binary_sensor", "health", {**attributes, **health, **problem}
        if self._may_stop():
            pressed = {"payload_press": STOP, "qos": 1, "retain": False}
            yield "button", "emergency stop", {"command_topic": topics.stop_command, **pressed}
        if state.update is not None:
            yield "update", "system", {"state_topic": topics.update, "title": "Barnacle"}
        for name in state.watches:
            expiry = {"expire_after": EXPIRY_IN_LOOKS * self._every_s}
            about = {"state_topic": self._watch(name), "device_class": "problem"}
            yield "binary_sensor", f"watch {name}", {**about, **_ON_OFF, **expiry}


def _connection(topics: MqttTopics) -> Mapping[str, object]:
    """Return it without availability: a device that is gone says that it is gone."""
    return {
        "state_topic": topics.status,
        "availability": [],
        "payload_on": ONLINE,
        "payload_off": OFFLINE,
        "device_class": "connectivity",
        **DIAGNOSTIC,
    }


def _update(state: UpdateState) -> dict[str, object]:
    told: dict[str, object] = {"installed_version": state.installed}
    # Left out, nobody knows of a newer one
    told |= {"latest_version": state.latest} if state.latest else {}
    summary = state.told[:_MOST_SUMMARY_CHARS]
    return {**told, "release_summary": summary, "in_progress": state.is_tried}
