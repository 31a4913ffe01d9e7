"""`barnacle run` at a real broker: cut off, killed, and asked by a home to move a pin."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.fakes import board_sim, mosquitto, mqtt_peer
from tests.fakes.board_sim import BoardSim
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.mqtt_peer import MqttPeer
from tests.waits import wait_until

PUMP = "barnacle/board/board/pump"
pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)


def config(port: int, more: str = "") -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.mqtt]\nurl = "mqtt://127.0.0.1:{port}"\nevery_s = 5\n{more}'
    )


async def pair(peer: MqttPeer, agent: DaemonProcess) -> None:
    await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    await wait_until(lambda: peer.shows("barnacle/status") == b"online")
    peer.publish("barnacle/in/anna", code[0])
    await wait_until(lambda: any("owner" in one["text"] for one in peer.told()))


def answers(peer: MqttPeer) -> list[str]:
    """Which messages were answered, once for each answer."""
    return [one["answers"] for one in peer.told() if "It is " in one["text"]]


async def test_nothing_is_lost_or_doubled_over_a_cut_and_a_kill(tmp_path: Path) -> None:
    with mosquitto.running(tmp_path) as broker, mqtt_peer.at(broker.port) as peer:
        with DaemonProcess(tmp_path, config(broker.port)) as agent:
            await pair(peer, agent)
            peer.say("what time is it?", id="1")
            await wait_until(lambda: answers(peer) == ["anna:1"])
            # The broker is restarted: everybody is cut off
            await asyncio.to_thread(broker.stop)
            peer.came.append(("barnacle/status", b""))
            await asyncio.to_thread(broker.start)
            await wait_until(lambda: peer.shows("barnacle/status") == b"online")
            peer.say("what time is it?", id="2")
            await wait_until(lambda: len(answers(peer)) == 2)
            await wait_until(agent.has_recorded)
            # The power goes while something is on its way, and more is said meanwhile
            peer.say("what time is it?", id="3")
            agent.kill()
            peer.say("what time is it?", id="4")
            peer.say("what time is it?", id="3")
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len(answers(peer)) >= 4)
            peer.say("what time is it?", id="5")
            await wait_until(lambda: "anna:5" in answers(peer))
            assert sorted(answers(peer)) == [f"anna:{number}" for number in range(1, 6)]
            assert await asyncio.to_thread(agent.stop) == 0
        await wait_until(lambda: peer.shows("barnacle/status") == b"offline")


@pytest.mark.skipif(
    board_sim.unavailable_reason() is not None, reason=str(board_sim.unavailable_reason())
)
async def test_a_switch_of_the_home_moves_a_pin_only_through_the_gate(tmp_path: Path) -> None:
    with (
        mosquitto.running(tmp_path) as broker,
        mqtt_peer.at(broker.port) as peer,
        BoardSim(tmp_path) as board,
        DaemonProcess(tmp_path, config(broker.port, f'[board]\nport = "{board.port}"\n')) as agent,
    ):
        await pair(peer, agent)
        await wait_until(lambda: peer.shows(PUMP) == b"off")
        # Nobody has let the home in
        peer.publish(f"{PUMP}/set", "on", quality=0)
        await wait_until(
            lambda: any("You have no access" in one["text"] for one in peer.told("home"))
        )
        peer.say("/pair new user home")
        await wait_until(lambda: _code(peer))
        peer.publish("barnacle/in/home", f"/pair {_code(peer)}")
        await wait_until(lambda: len(peer.told("home")) > 1)
        # A user's wish to move something is the owner's to grant
        peer.publish(f"{PUMP}/set", "ON", quality=0)
        await wait_until(lambda: _question(peer))
        assert peer.shows(PUMP) == b"off"
        peer.say(f"yes {_question(peer)}")
        await wait_until(lambda: peer.shows(PUMP) == b"on")
        # The owner's own word moves it without a question
        peer.say("turn the pump off")
        await wait_until(lambda: peer.shows(PUMP) == b"off")


def _code(peer: MqttPeer) -> str:
    found = re.search(r"/pair ([A-Z0-9]{5}-[A-Z0-9]{5})", "\n".join(_said(peer)))
    return found[1] if found else ""


def _question(peer: MqttPeer) -> str:
    found = re.search(r"answer `?yes ([a-z0-9]{4})", "\n".join(_said(peer)))
    return found[1] if found else ""


def _said(peer: MqttPeer) -> list[str]:
    return [one["text"] for one in peer.told()]


async def test_what_was_recorded_of_the_machine_is_shown_where_it_is_wanted(
    tmp_path: Path,
) -> None:
    topic = "barnacle/reading/machine.memory_free"
    with mosquitto.running(tmp_path) as broker, mqtt_peer.at(broker.port) as peer:
        with DaemonProcess(tmp_path, config(broker.port, "readings = true\n")):
            # The recorder looks every ten seconds
            await wait_until(lambda: peer.shows(topic), 60.0)
        told = json.loads(peer.shows(topic) or b"")
    assert told["unit"] == "MB"
    assert told["value"] > 0
