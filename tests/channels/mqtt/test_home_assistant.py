"""What Home Assistant is told: every pin once, as what it is."""

import json
import re
from typing import Any

from agent.channels.mqtt.home_assistant import HomeAssistantDevice, described, described_own
from agent.channels.mqtt.messages import MqttTopics
from agent.link.manifest import read_manifest
from tests.fakes.board import FakeBoard

TARGET = {"name": "target", "format": "H", "maximum": 125, "unit": "°C", "scale": 0.1}
THERMOSTAT: dict[str, Any] = {
    "manifest": 1,
    "board": "simulated",
    "methods": [
        {
            "id": number,
            "name": f"thermostat_{name}",
            "about": "",
            "arguments": [{"name": "pin", "format": "B", "pins": "thermostat"}, *more],
            "result": [{"name": "relay", "format": "B", "choices": ["off", "on"]}, TARGET],
            "safety": safety,
            "lease": safety == "actuate",
        }
        for number, name, more, safety in (
            (40, "write", [TARGET], "actuate"),
            (41, "read", [], "read"),
        )
    ],
    "pins": [{"index": 0, "name": "heater", "pin": "PB0", "can": ["thermostat"]}],
}
DEVICE = HomeAssistantDevice("barnacle-1a2b", "greenhouse", "homeassistant", 30)
TOPICS = MqttTopics("greenhouse")


def told(device: HomeAssistantDevice = DEVICE) -> dict[str, Any]:
    found = described(FakeBoard(), TOPICS, device)
    return {topic: json.loads(payload) for topic, payload in found.items()}


def test_outputs_are_switches_and_the_rest_are_sensors() -> None:
    kinds = {(topic.split("/")[1], one["name"]) for topic, one in told().items()}
    assert kinds == {
        ("switch", "led"),
        ("switch", "pump"),
        ("switch", "relay"),
        ("binary_sensor", "button"),
        ("sensor", "a0"),
        ("sensor", "mcu_temperature"),
        ("binary_sensor", "board connection"),
    }


def test_a_board_that_is_gone_is_shown_as_not_connected() -> None:
    link = told()["homeassistant/binary_sensor/barnacle-1a2b_board_-link/config"]
    assert (link["device_class"], link["entity_category"]) == ("connectivity", "diagnostic")
    assert (link["state_topic"], link["payload_on"]) == ("greenhouse/board/board", "online")
    # It has to be there to say so
    assert link["availability"] == [{"topic": "greenhouse/status"}]


def test_a_switch_says_where_it_is_set_and_seen_and_whether_it_is_there() -> None:
    pump = told()["homeassistant/switch/barnacle-1a2b_board_pump/config"]
    assert pump["command_topic"] == "greenhouse/board/board/pump/set"
    assert pump["state_topic"] == "greenhouse/board/board/pump"
    assert pump["availability"] == [
        {"topic": "greenhouse/status"},
        {"topic": "greenhouse/board/board"},
    ]
    assert pump["availability_mode"] == "all"
    assert pump["unique_id"] == "barnacle-1a2b_board_pump"
    assert pump["device"]["identifiers"] == ["barnacle-1a2b"]


def test_a_reading_has_its_unit_and_is_lost_in_time() -> None:
    temperature = told()["homeassistant/sensor/barnacle-1a2b_board_mcu_temperature/config"]
    assert temperature["unit_of_measurement"] == "°C"
    assert temperature["device_class"] == "temperature"
    assert temperature["expire_after"] == 120
    assert "command_topic" not in temperature


def test_a_thermostat_shows_its_target_where_the_board_tells_it() -> None:
    board = FakeBoard()
    board.learn(read_manifest(json.dumps(THERMOSTAT).encode()))
    found = described(board, TOPICS, DEVICE)
    heater = json.loads(found["homeassistant/number/barnacle-1a2b_board_heater/config"])
    assert heater["command_topic"] == "greenhouse/board/board/heater/set"
    assert heater["state_topic"] == "greenhouse/board/board/heater.target"
    target = json.loads(found["homeassistant/sensor/barnacle-1a2b_board_heater_target/config"])
    assert target["state_topic"] == heater["state_topic"]


def test_an_output_that_no_board_can_read_promises_no_state() -> None:
    board = FakeBoard()
    unread = {**THERMOSTAT, "methods": THERMOSTAT["methods"][:1]}
    board.learn(read_manifest(json.dumps(unread).encode()))
    found = described(board, TOPICS, DEVICE)
    heater = json.loads(found["homeassistant/number/barnacle-1a2b_board_heater/config"])
    assert heater["command_topic"] == "greenhouse/board/board/heater/set"
    assert "state_topic" not in heater


def test_without_a_prefix_nothing_is_told() -> None:
    assert told(HomeAssistantDevice("barnacle-1a2b", "greenhouse", "", 30)) == {}


def test_a_board_that_was_never_there_is_nothing_yet() -> None:
    board = FakeBoard()
    board.manifest = None
    assert described(board, TOPICS, DEVICE) == {}


def test_names_of_other_scripts_are_not_one_entity() -> None:
    names = ("地下室", "温度计", "garden", "garden gate")
    found = [described_own("sensor", name, {}, TOPICS, DEVICE) for name in names]
    ids = [json.loads(payload)["unique_id"] for one in found for payload in one.values()]
    assert len(set(ids)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", one) for one in ids)
    assert ids[2:] == ["barnacle-1a2b-own_garden", "barnacle-1a2b-own_garden_gate"]
