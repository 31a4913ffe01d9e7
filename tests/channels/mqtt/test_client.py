"""Logging in at a real broker, and each way of not being let in."""

import subprocess
from pathlib import Path

import pytest

from agent.channels.mqtt.channel import broker_of, probe, secured
from agent.channels.mqtt.client import MqttBroker, connected
from agent.channels.settings import MqttSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused, MessageRefused
from tests.fakes import mosquitto, mqtt_peer
from tests.fakes.mosquitto import PASSWORD, USER
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)


def broker(port: int, *, scheme: str = "mqtt", **more: str | Secret) -> MqttBroker:
    url = f"{scheme}://127.0.0.1:{port}"
    return broker_of(MqttSettings(url=url, **more), {})  # type: ignore[arg-type]  # texts and a secret


def certificate(folder: Path) -> tuple[Path, Path]:
    key, own = folder / "key.pem", folder / "own.pem"
    subject = ["-subj", "/CN=broker", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*made, *subject, "-keyout", key, "-out", own], check=True, capture_output=True)
    key.chmod(0o644)
    return own, key


async def test_a_broker_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    with mosquitto.running(tmp_path) as gone:
        port = gone.port
    with pytest.raises(ChannelUnavailable, match=f"cannot reach 127.0.0.1:{port}: Connection"):
        await probe(broker(port))


async def test_a_wrong_password_is_explained(tmp_path: Path) -> None:
    lines = mosquitto.with_password(tmp_path)
    with mosquitto.running(tmp_path, *lines) as there:
        with pytest.raises(ChannelRefused, match=r"user or password is wrong|does not let this"):
            await probe(broker(there.port, user=USER, password=Secret("another")))
        with pytest.raises(ChannelRefused):
            await probe(broker(there.port))
        told = await probe(broker(there.port, user=USER, password=Secret(PASSWORD)))
        assert told == f"127.0.0.1:{there.port} lets us in as user device, without TLS"


# The library leaves the socket of a handshake that failed to the garbage collector
@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket")
async def test_tls_is_checked_against_the_authority_of_the_configuration(tmp_path: Path) -> None:
    own, key = certificate(tmp_path)
    lines = ["allow_anonymous true", f"certfile {own}", f"keyfile {key}"]
    with mosquitto.running(tmp_path, *lines) as there:
        with pytest.raises(ChannelRefused, match=r"not trusted .* channels\.mqtt\.ca_file"):
            await probe(broker(there.port, scheme="mqtts"))
        told = await probe(broker(there.port, scheme="mqtts", ca_file=str(own)))
        assert told.endswith("with TLS")


async def test_a_topic_that_is_not_ours_is_a_dead_letter(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("topic readwrite barnacle/#\n")
    lines = ["allow_anonymous true", f"acl_file {rules}"]
    with mosquitto.running(tmp_path, *lines) as there:
        async with connected(broker(there.port), "test", lambda: None) as connection:
            with pytest.raises(MessageRefused, match=r"at elsewhere .Not authorized"):
                await connection.publish("elsewhere", b"hello")
            await connection.publish("barnacle/out/anna", b"hello")


async def test_a_probe_leaves_the_devices_state_as_it_is(tmp_path: Path) -> None:
    with mosquitto.running(tmp_path) as there, mqtt_peer.at(there.port) as peer:
        peer.publish("barnacle/status", "online", retain=True)
        await probe(broker(there.port))
        async with connected(broker(there.port), "device", lambda: None):
            pass
        await wait_until(lambda: peer.shows("barnacle/status") == b"offline")
        assert [payload for _, payload in peer.came] == [b"online", b"offline"]


def test_a_password_that_the_network_can_read_is_said() -> None:
    far = MqttSettings(url="mqtt://broker.example", user="u", password=Secret("p"))
    assert secured(broker_of(far, {})).endswith("so that the network can read the password")
    assert secured(broker(1883, user="u", password=Secret("p"))) == "without TLS"


@pytest.mark.parametrize("content", [None, "nothing of the kind"])
def test_an_authority_that_is_none_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigRefused, match=r"cannot use channels\.mqtt\.ca_file .*ca\.pem"):
        broker(1, scheme="mqtts", ca_file=str(path))


def test_the_usual_ports() -> None:
    assert broker_of(MqttSettings(url="mqtt://broker.example"), {}).port == 1883
    assert broker_of(MqttSettings(url="mqtts://broker.example"), {}).port == 8883
    assert broker_of(MqttSettings(url="mqtt://[::1]:99"), {}).host == "::1"
