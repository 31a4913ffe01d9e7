"""Messages of a mirror: what is said again, what is taken back, and a broker that refuses some."""

from pathlib import Path
from typing import cast

import pytest

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.retained import keep, renew
from agent.errors import ChannelUnavailable, MessageRefused

LAMP, LAMP_ABOUT, HEAT = "b/lamp", "ha/lamp/config", "b/heat"


class RefusingBroker:
    """A broker whose access rules refuse some topics."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.said: list[tuple[str, bytes]] = []

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        assert retain
        if topic in self.refused:
            raise MessageRefused(f"the broker refused {topic}")
        self.said.append((topic, payload))
        return True


def connection(broker: RefusingBroker) -> MqttConnection:
    return cast("MqttConnection", broker)


@pytest.mark.parametrize("repeats", [True, False])
async def test_a_value_that_stays_is_said_again_only_where_it_would_expire(
    *, repeats: bool
) -> None:
    broker = RefusingBroker()
    now = {LAMP_ABOUT: b"{}", LAMP: b"on"}
    shown = await renew(connection(broker), now, {}, repeats=repeats)
    assert shown == now
    broker.said.clear()
    await renew(connection(broker), now, shown, repeats=repeats)
    assert broker.said == ([(LAMP, b"on")] if repeats else [])


async def test_what_is_gone_is_taken_back_and_its_value_stays() -> None:
    broker = RefusingBroker()
    shown = {LAMP_ABOUT: b"{}", LAMP: b"on"}
    assert await renew(connection(broker), {}, shown, repeats=True) == {}
    assert broker.said == [(LAMP_ABOUT, b"")]


async def test_one_that_is_refused_hides_no_other_and_comes_again() -> None:
    broker = RefusingBroker(LAMP, LAMP_ABOUT)
    now = {LAMP_ABOUT: b"{}", LAMP: b"on", HEAT: b"21"}
    shown = await renew(connection(broker), now, {}, repeats=False)
    assert shown == {HEAT: b"21"}
    broker.refused.clear()
    shown = await renew(connection(broker), now, shown, repeats=False)
    assert broker.said == [(HEAT, b"21"), (LAMP_ABOUT, b"{}"), (LAMP, b"on")]
    # What could not be taken back is taken back later
    broker.refused = {LAMP_ABOUT}
    shown = await renew(connection(broker), {LAMP: b"on"}, shown, repeats=False)
    assert LAMP_ABOUT in shown
    broker.refused.clear()
    assert await renew(connection(broker), {LAMP: b"on"}, shown, repeats=False) == {LAMP: b"on"}
    assert broker.said[-1] == (LAMP_ABOUT, b"")


async def test_a_mirror_looks_until_the_connection_is_gone(tmp_path: Path) -> None:
    broker, looks = RefusingBroker(), iter([{LAMP: b"on"}, {LAMP: b"on"}, {LAMP: b"off"}])

    async def look() -> dict[str, bytes]:
        found = next(looks, None)
        if found is None:
            raise ChannelUnavailable("the broker has gone")
        return found

    async def change() -> None:
        return

    described = DescribedTopics(tmp_path / "described.json")
    with pytest.raises(ChannelUnavailable):
        await keep(connection(broker), look, change, described, repeats=False)
    assert broker.said == [(LAMP, b"on"), (LAMP, b"off")]
