"""The boards at a real broker: what is shown is what the board says."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agent.messages import Outbound
from tests.contracts.listener import listening
from tests.fakes import mosquitto
from tests.fakes.mqtt_platform import MqttPlatform, running
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)
PUMP = "barnacle/board/board/pump"


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[MqttPlatform]:
    async with running(tmp_path) as made:
        yield made


async def test_values_and_devices_are_there_after_the_start(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(
            lambda: platform.peer.shows("barnacle/board/board/mcu_temperature") == b"24.5"
        )
        assert platform.peer.shows(PUMP) == b"off"
        assert platform.peer.shows("barnacle/board/board/a0") == b"1.234"
        assert platform.peer.shows("barnacle/board/board") == b"online"
        found = [topic for topic, _ in platform.peer.came if topic.startswith("homeassistant/")]
        assert len(found) == len(set(found)) == 7


async def test_a_value_of_many_digits_is_shown_with_all_of_them(platform: MqttPlatform) -> None:
    platform.board.values["a0"] = 1_073_741.8
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows("barnacle/board/board/a0"))
        assert platform.peer.shows("barnacle/board/board/a0") == b"1073741.8"


async def test_after_an_order_of_the_home_the_true_value_is_shown(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows(PUMP) == b"off")
        platform.board.values["pump"] = "on"
        answer = Outbound(1, "mqtt", "home", "The pump is on.", "", "board/pump")
        await platform.channel.send(answer)
        await wait_until(lambda: platform.peer.shows(PUMP) == b"on")


async def test_a_board_that_is_unplugged_is_shown_as_away(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows("barnacle/board/board") == b"online")
        platform.board.unplug()
        platform.channel._mirror.look_again()
        await wait_until(lambda: platform.peer.shows("barnacle/board/board") == b"offline")


async def test_a_pin_that_is_gone_is_taken_back(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: _config_of_relay(platform))
        [topic] = _config_of_relay(platform)
        assert platform.board.manifest is not None
        pins = tuple(one for one in platform.board.manifest.pins if one.name != "relay")

        platform.board.learn(msgspec.structs.replace(platform.board.manifest, pins=pins))
        platform.channel._mirror.look_again()
        await wait_until(lambda: platform.peer.shows(topic) == b"")


async def test_a_pin_that_was_removed_while_the_agent_was_off_is_taken_back(
    platform: MqttPlatform,
) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: _config_of_relay(platform))
    [topic] = _config_of_relay(platform)
    manifest = platform.board.manifest
    assert manifest is not None

    # A board that is not there yet has lost nothing
    platform.board.manifest = None
    platform.board.unplug()
    platform.peer.came.clear()
    later = platform.restarted()
    async with listening(later):
        await wait_until(lambda: platform.peer.shows("barnacle/board/board") == b"offline")
        assert platform.peer.shows(topic) != b""
        pins = tuple(one for one in manifest.pins if one.name != "relay")
        platform.board.learn(msgspec.structs.replace(manifest, pins=pins))
        later._mirror.look_again()
        await wait_until(lambda: platform.peer.shows(topic) == b"")
    taken_back = [one for one, payload in platform.peer.came if not payload]
    assert taken_back == [topic]

    # It was taken back once for all
    platform.peer.came.clear()
    async with listening(platform.restarted()):
        await wait_until(lambda: platform.peer.shows("barnacle/board/board"))
    assert topic not in dict(platform.peer.came)


async def test_a_board_that_is_no_longer_configured_is_taken_back(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: _config_of_relay(platform))
    [topic] = _config_of_relay(platform)
    platform.board.name = "garden"
    async with listening(platform.restarted()):
        await wait_until(lambda: platform.peer.shows(topic) == b"")


def _config_of_relay(platform: MqttPlatform) -> set[str]:
    return {topic for topic, _ in platform.peer.came if topic.endswith("_board_relay/config")}
