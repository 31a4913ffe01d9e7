"""Discovery messages for Home Assistant, so that pins and sensors appear there by themselves.

Pure: descriptions in, topics and payloads out. A command that it sends to a pin is a message to the
agent like any other.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from agent import __version__
from agent.channels.mqtt.messages import OFFLINE, ONLINE, MqttTopics
from agent.link.base import Board
from agent.link.manifest import Field
from agent.link.readings import BoardReading, Setting, read_method, readings, settings
from agent.link.value_codec import range_of
from agent.readings.series import Series

# What its devices are called by, for units of which each stands for one kind
_CLASSES = {
    "°C": "temperature",
    "V": "voltage",
    "mV": "voltage",
    "A": "current",
    "hPa": "atmospheric_pressure",
    "lx": "illuminance",
    "Hz": "frequency",
}
# Within this a value is known to be lost, and shown as such
EXPIRY_IN_LOOKS = 4
# Of a board's link, beside its pins: no pin is called so
_LINK = "-link"
# It takes no finer ones
_LEAST_STEP = 0.001
# How the topic of a description ends
CONFIG = "/config"
# Of what says how the device itself is
DIAGNOSTIC = {"entity_category": "diagnostic"}
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


class HomeAssistantDevice(Struct, frozen=True):
    """Device as Home Assistant sees it.

    Args:
        known: the device's name at the broker, the same for ever.
        prefix: of the topics at which Home Assistant looks for devices.
        every_s: how often values are looked at.
    """

    known: str
    name: str
    prefix: str
    every_s: int


def described(board: Board, topics: MqttTopics, device: HomeAssistantDevice) -> dict[str, bytes]:
    """Return the discovery messages by topic."""
    if board.manifest is None or not device.prefix:
        return {}
    found: dict[str, bytes] = {}
    settable = {one.pin.name for one in settings(board.manifest)}
    for kind, name, about in (
        *_of_settings(board, topics),
        *_of_readings(board, device, settable),
        ("binary_sensor", _LINK, _of_link(board, topics)),
    ):
        known = _id(f"{device.known}_{board.name}_{name}")
        told = {**_common(board, topics, device, known, name), **about}
        kept = {key: value for key, value in told.items() if value is not None}
        found[_topic(device, kind, known)] = msgspec.json.encode(kept)
    return found


def names_of(board: Board, device: HomeAssistantDevice) -> str:
    """Return the beginning of the names of all that belongs to the board."""
    return _id(f"{device.known}_{board.name}_")


def _id(name: str) -> str:
    """Return the name as Home Assistant takes it in a topic, and as no other one is written."""
    plain = _STRANGE.sub("_", name)
    if name.isascii():
        return plain
    # Of a word in Chinese nothing is left
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _topic(device: HomeAssistantDevice, kind: str, known: str) -> str:
    return f"{device.prefix}/{kind}/{known}{CONFIG}"


def _common(
    board: Board, topics: MqttTopics, device: HomeAssistantDevice, known: str, name: str
) -> Mapping[str, object]:
    return {
        "name": name if board.name == "board" else f"{board.name} {name}",
        "unique_id": known,
        "state_topic": topics.value(board.name, name),
        "availability": [{"topic": topics.status}, {"topic": topics.board(board.name)}],
        "availability_mode": "all",
        **_belongs(device),
    }


def _belongs(device: HomeAssistantDevice) -> Mapping[str, object]:
    return {
        "device": {
            "identifiers": [device.known],
            "name": device.name,
            "manufacturer": "Barnacle",
            "sw_version": __version__,
        },
        "origin": {"name": "Barnacle", "sw_version": __version__},
    }


def described_reading(
    series: Series, topic: str, topics: MqttTopics, device: HomeAssistantDevice
) -> dict[str, bytes]:
    """Return the discovery message of a recorded reading, which is JSON at its topic."""
    if not device.prefix:
        return {}
    kind = "binary_sensor" if series.kind.is_switch else "sensor"
    known = _id(f"{device.known}_reading_{series.name}")
    about = {"payload_on": "on", "payload_off": "off"}
    if not series.kind.is_switch:
        about = {"state_class": "measurement", **_unit(series.kind.unit)}
    told = {
        "name": series.name,
        "unique_id": known,
        "state_topic": topic,
        "value_template": "{{ value_json.value }}",
        "expire_after": EXPIRY_IN_LOOKS * max(device.every_s, series.cadence_s),
        "availability": [{"topic": topics.status}],
        **_belongs(device),
        **about,
    }
    return {_topic(device, kind, known): msgspec.json.encode(told)}


def described_own(
    kind: str,
    name: str,
    about: Mapping[str, object],
    topics: MqttTopics,
    device: HomeAssistantDevice,
) -> dict[str, bytes]:
    """Return the discovery message of something that the device says of itself."""
    if not device.prefix:
        return {}
    known = _id(f"{device.known}-own_{name}")
    told = {
        "name": name,
        "unique_id": known,
        "availability": [{"topic": topics.status}],
        **_belongs(device),
        **about,
    }
    return {_topic(device, kind, known): msgspec.json.encode(told)}


def _unit(unit: str) -> dict[str, str]:
    told = {"unit_of_measurement": unit} if unit else {}
    return told | ({"device_class": _CLASSES[unit]} if unit in _CLASSES else {})


def _of_settings(
    board: Board, topics: MqttTopics
) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    assert board.manifest is not None
    for one in settings(board.manifest):
        command: dict[str, object] = {
            "command_topic": topics.command(board.name, one.pin.name),
            "qos": 0,
            # Without one Home Assistant assumes what it has ordered
            "state_topic": _shown_at(board, topics, one),
        }
        if set(one.field.choices) == {"on", "off"}:
            switched = {"payload_on": "on", "payload_off": "off"}
            yield "switch", one.pin.name, {**command, **switched}
        elif not one.field.choices:
            yield "number", one.pin.name, {**command, **_range(one.field)}


def _shown_at(board: Board, topics: MqttTopics, one: Setting) -> str | None:
    """Return the topic of the value that is set; None where the board cannot say what it is."""
    assert board.manifest is not None
    method = read_method(board.manifest, one.pin)
    told = {field.name for field in method.result} if method is not None else set()
    if "value" in told:
        return topics.value(board.name, one.pin.name)
    # A reading of several values has the one that is set under its own name
    part = f"{one.pin.name}.{one.field.name}"
    return topics.value(board.name, part) if one.field.name in told else None


def _of_readings(
    board: Board, device: HomeAssistantDevice, settable: set[str]
) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    assert board.manifest is not None
    expiry = {"expire_after": EXPIRY_IN_LOOKS * device.every_s}
    for one in readings(board.manifest):
        if one.name in settable:
            continue
        if set(one.field.choices) == {"on", "off"}:
            yield "binary_sensor", one.name, {"payload_on": "on", "payload_off": "off", **expiry}
        else:
            yield "sensor", one.name, {**_kind(one), **expiry}


def _of_link(board: Board, topics: MqttTopics) -> Mapping[str, object]:
    return {
        "name": f"{board.name} connection",
        "state_topic": topics.board(board.name),
        # Not of the board: it says that it is gone
        "availability": [{"topic": topics.status}],
        "payload_on": ONLINE,
        "payload_off": OFFLINE,
        "device_class": "connectivity",
        **DIAGNOSTIC,
    }


def _kind(one: BoardReading) -> Mapping[str, object]:
    unit = one.field.unit
    told: dict[str, object] = {**_unit(unit)}
    if unit == "%" and "humidity" in one.name:
        told["device_class"] = "humidity"
    if not one.field.choices:
        told["state_class"] = "measurement"
    return told


def _range(field: Field) -> Mapping[str, object]:
    least, most = range_of(field)
    step = max(field.scale, _LEAST_STEP)
    told = {"min": least, "max": most, "step": step, "unit_of_measurement": field.unit}
    return {name: value for name, value in told.items() if value not in {None, ""}}
