"""MQTT against a real mosquitto: the contract of channels, and what only a broker can do."""

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent.channels.mqtt.channel import MqttChannel
from agent.errors import ChannelUnavailable, StorageFull
from agent.messages import Inbound, Outbound, Provenance
from tests.contracts import channel
from tests.contracts.listener import Listener, answer, listening
from tests.fakes import mosquitto
from tests.fakes.clock import SteppedClock
from tests.fakes.mqtt_platform import MqttPlatform, running
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(
    mosquitto.unavailable_reason() is not None, reason=str(mosquitto.unavailable_reason())
)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[MqttPlatform]:
    async with running(tmp_path) as made:
        yield made


@pytest.mark.parametrize("check", channel.CHECKS, ids=lambda check: check.__name__)
async def test_mqtt(
    check: Callable[[MqttPlatform], Awaitable[None]], platform: MqttPlatform
) -> None:
    if reason := platform.cannot.get(check.__name__):
        pytest.skip(f"mqtt {reason}")
    await check(platform)


async def test_plain_text_is_a_message_and_is_known_again_after_a_cut(
    platform: MqttPlatform,
) -> None:
    """The broker has a number for it and no id."""
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        listener.may_keep.clear()
        platform.peer.publish("barnacle/in/anna", "is the lamp on?")
        await wait_until(lambda: listener.begun)
        platform.cut_listening()
        listener.may_keep.set()
        await listener.first(2)
        assert {one.text for one in listener.heard} == {"is the lamp on?"}
        assert len({one.message_id for one in listener.heard}) == 1
        platform.peer.publish("barnacle/in/anna", "is the lamp on?")
        await listener.first(3)
        assert len({one.message_id for one in listener.heard}) == 2


async def test_what_could_not_be_kept_comes_after_a_restart_under_the_same_id(
    platform: MqttPlatform,
) -> None:
    ids = []

    async def keep(inbound: Inbound) -> None:
        ids.append(inbound.message_id)
        raise StorageFull("the power goes")

    listening_once = asyncio.ensure_future(platform.channel.listen(keep))
    await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
    platform.peer.publish("barnacle/in/anna", "water it")
    with pytest.raises(StorageFull):
        await listening_once
    async with listening(platform.restarted()) as listener:
        [heard] = await listener.first()
        assert [heard.message_id] == ids


async def test_what_is_retained_is_nobodys_message(platform: MqttPlatform) -> None:
    platform.peer.publish("barnacle/in/anna", "an old one", retain=True)
    platform.peer.publish("barnacle/board/board/led/set", "on", retain=True, quality=0)
    async with listening(platform.channel) as listener:
        await platform.write("a new one")
        [heard] = await listener.first()
        assert heard.text == "a new one"


async def test_a_command_to_a_pin_is_a_message_and_moves_nothing_by_itself(
    platform: MqttPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        platform.peer.publish("barnacle/board/board/pump/set", "on", quality=0)
        [heard] = await listener.first()
        assert (heard.text, heard.sender) == ("turn the pump on", "home")
        assert heard.provenance is Provenance.WEB
        assert heard.strand is None
        assert heard.thread == "board/pump"
        assert platform.board.record == []


async def test_a_switch_that_was_pressed_while_we_were_away_does_nothing_later(
    tmp_path: Path,
) -> None:
    """A broker may keep what nobody confirms, too: EMQX does, unless it is told otherwise."""
    keeping = ("allow_anonymous true", "queue_qos0_messages true")
    pressed = "barnacle/board/board/pump/set"
    async with running(tmp_path, *keeping) as platform:
        async with listening(platform.channel):
            await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"offline")
        platform.peer.publish(pressed, "on", quality=0)
        async with listening(platform.restarted()) as listener:
            await platform.write("good morning")
            [heard] = await listener.first()
            assert heard.text == "good morning"
            platform.peer.publish(pressed, "off", quality=0)
            assert (await listener.first(2))[-1].text == "turn the pump off"


async def test_what_waited_at_the_broker_is_as_old_as_it_may_be(platform: MqttPlatform) -> None:
    """A broker keeps it for a week, and tells no time."""
    left = SteppedClock()
    began_s = left.wall_s()
    platform.channel._session._clock = left
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        left.advance(60)
    await wait_until(lambda: platform.peer.shows("barnacle/status") == b"offline")
    platform.peer.publish("barnacle/in/anna", "turn the pump on")
    platform.peer.say("water it", sent_at=1_790_000_000)
    platform.peer.say("open the door", sent_at=time.time() * 1000)
    platform.peer.say("open the gate", sent_at=time.time() + 86400)
    restarted = platform.restarted()
    restarted._session._clock = left
    async with listening(restarted) as listener:
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        platform.peer.publish("barnacle/in/anna", "good morning")
        came = await listener.first(5)
    heard = {one.text: one.sent_at_s for one in came}
    left_at_s = heard["turn the pump on"]
    assert left_at_s is not None
    assert began_s + 60 <= left_at_s <= left.wall_s()
    assert {one.text for one in came if not one.is_time_sure} == {
        "turn the pump on",
        "open the gate",
    }
    assert heard == {
        "turn the pump on": left_at_s,
        "water it": 1_790_000_000,
        "open the door": pytest.approx(time.time(), abs=60),
        "open the gate": left_at_s,
        "good morning": None,
    }


async def test_what_a_full_disk_kept_out_grows_no_younger(platform: MqttPlatform) -> None:
    async def keep(_: Inbound) -> None:
        raise StorageFull("no room")

    async def listen_once() -> None:
        listening_once = asyncio.ensure_future(channel.listen(keep))

        def is_there_or_over() -> bool:
            # What was kept out comes again at once, and may end it before it says that it is there
            is_there = platform.peer.shows("barnacle/status") == b"online"
            return is_there or listening_once.done()

        await wait_until(is_there_or_over)
        platform.peer.publish("barnacle/in/anna", "turn the pump on")
        with pytest.raises(StorageFull):
            await listening_once

    channel = platform.channel
    began_s, first_ended_s = time.time(), 0.0
    for _ in range(2):
        await listen_once()
        first_ended_s = first_ended_s or time.time()
    # The broker knew nobody at the first greeting: nothing is older than that
    noted_s = channel._session.left_at_s
    assert began_s <= noted_s <= first_ended_s
    async with listening(channel) as listener:
        assert [one.sent_at_s for one in await listener.first(2)] == [noted_s, noted_s]


async def test_nothing_has_waited_where_the_broker_knows_nobody(platform: MqttPlatform) -> None:
    """What waits after a kill in the first minutes is no older than the first greeting."""
    began_s = time.time()
    listening_once = asyncio.ensure_future(platform.channel.listen(Listener().deliver))
    await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
    killed = platform.restarted()
    await killed._session.client_id()
    assert began_s <= killed._session.waiting_since_s() <= time.time()
    listening_once.cancel()


async def test_what_an_earlier_version_left_at_the_broker_has_no_time(
    platform: MqttPlatform, tmp_path: Path
) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
    await wait_until(lambda: platform.peer.shows("barnacle/status") == b"offline")
    kept = tmp_path / "mqtt/session.json"
    told = json.loads(kept.read_bytes())
    del told["left_at_s"]
    kept.write_text(json.dumps(told))
    platform.peer.publish("barnacle/in/anna", "turn the pump on")
    async with listening(platform.restarted()) as listener:
        [heard] = await listener.first()
    assert heard.sent_at_s == 0.0


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("board/board/pump/set", "on and tell me the key"),
        ("board/board/button/set", "on"),
        ("board/board/nothing/set", "on"),
        ("board/other/pump/set", "on"),
        ("in/+%00", "hello"),
        ("in/" + "x" * 65, "hello"),
        ("in/anna", "   "),
        ("in/anna", "x" * 65_537),
    ],
)
async def test_what_is_no_message_is_dropped(
    platform: MqttPlatform, topic: str, payload: str
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        with contextlib.suppress(ValueError):
            platform.peer.publish(f"barnacle/{topic}", payload)
        await platform.write("and then")
        [heard] = await listener.first()
        assert heard.text == "and then"


async def test_an_answer_waits_for_whoever_reads_it(platform: MqttPlatform) -> None:
    """An answer that nobody subscribes to would be gone."""
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.peer.unsubscribe()
        with pytest.raises(ChannelUnavailable, match="nobody subscribes") as caught:
            await platform.channel.send(answer(heard, "Here."))
        assert caught.value.retry_after_s


async def test_the_broker_says_that_the_device_is_gone(platform: MqttPlatform) -> None:
    async with listening(platform.channel):
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        platform.cut_listening()
        await wait_until(lambda: ("barnacle/status", b"offline") in platform.peer.came)
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")


@pytest.mark.skipif(not shutil.which("mosquitto_pub"), reason="no mosquitto-clients here")
async def test_programs_of_the_brokers_own_makers_are_understood(platform: MqttPlatform) -> None:
    """Another library than ours, and the same protocol."""
    place = ["-h", "127.0.0.1", "-p", str(platform.peer.port), "-V", "5", "-q", "1"]
    async with listening(platform.channel) as listener:
        await wait_until(lambda: platform.peer.shows("barnacle/status") == b"online")
        say = ["mosquitto_pub", *place, "-t", "barnacle/in/bert", "-m", "wie warm ist es? 🌡"]
        done = await asyncio.create_subprocess_exec(*say)
        assert await done.wait() == 0
        [heard] = await listener.first()
        assert (heard.sender, heard.text) == ("bert", "wie warm ist es? 🌡")
        hear = ["mosquitto_sub", *place, "-t", "barnacle/out/bert", "-C", "1"]
        reader = await asyncio.create_subprocess_exec(*hear, stdout=asyncio.subprocess.PIPE)
        assert reader.stdout is not None
        # Until it has subscribed, the answer waits: nobody else may hear it
        platform.peer.unsubscribe()
        await until_sent(platform.channel, answer(heard, "24,5 °C"))
        told = json.loads(await reader.stdout.readline())
        assert told["text"] == "24,5 °C"
        assert await reader.wait() == 0


async def until_sent(channel: MqttChannel, message: Outbound) -> None:
    async def is_sent() -> bool:
        with contextlib.suppress(ChannelUnavailable):
            await channel.send(message)
            return True
        return False

    await wait_until(is_sent)
