"""An act between two devices happens at most once, and nothing is lost without a word."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from agent.devices import caller as near
from agent.devices.caller import DeviceCaller
from agent.devices.channel import DirectPost, read_framed, write_framed
from agent.devices.wire import MAX_MESSAGE_BYTES, DeviceReply, DeviceSeal, Outcome
from agent.errors import LinkLost, OutcomeUnknown
from agent.system import crash_points
from tests.fakes.raw_server import serving
from tests.fakes.two_devices import KEY, WRITE, TwoDevices, two_devices
from tests.waits import stays, wait_until


@pytest.fixture
async def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoDevices]:
    for name, value_s in (
        ("SAY_AGAIN_S", 0.05),
        ("ANSWER_S", 6.0),
        ("SILENT_S", 0.6),
        ("BEGUN_WITHIN_S", 0.3),
        ("SETTLE_EVERY_S", 0.05),
    ):
        monkeypatch.setattr(near, name, value_s)
    async with two_devices(tmp_path) as made:
        yield made


async def act(both: TwoDevices, *, is_relayed: bool = False) -> DeviceReply:
    return await both.kitchen.caller.act(*WRITE, "turn the pump on", is_relayed=is_relayed)


@contextlib.asynccontextmanager
async def settling(both: TwoDevices) -> AsyncIterator[None]:
    """The near device at work: it finds out what became of open acts."""
    task = asyncio.ensure_future(both.kitchen.caller.run(both.kitchen.tell))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@contextlib.contextmanager
def cut_at(point: str) -> Iterator[asyncio.Event]:
    """Nothing after that place happens; the event is set when it was reached."""
    was_cut = asyncio.Event()

    def cut(name: str) -> None:
        if name == point:
            was_cut.set()
            raise asyncio.CancelledError

    crash_points.arm(cut)
    try:
        yield was_cut
    finally:
        crash_points.arm(None)


async def _none_open(both: TwoDevices) -> bool:
    return await both.kitchen.ledger.open("garden") == []


async def test_an_act_is_done_once_and_told(both: TwoDevices) -> None:
    reply = await act(both)
    assert (reply.outcome, len(both.garden.used)) == (Outcome.DONE, 1)
    assert both.garden.used[0].caller.person.role == "user"
    assert await both.kitchen.ledger.open("garden") == []


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_repeated(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    both.back.loses = True
    task = asyncio.ensure_future(act(both))
    await wait_until(lambda: len(both.there.sent) >= 4)
    both.back.loses = False
    assert (await task).outcome is Outcome.DONE
    assert len(both.garden.used) == 1


async def test_a_recorded_message_that_is_sent_again_does_nothing(both: TwoDevices) -> None:
    await act(both)
    for payload in list(both.there.sent):
        both.garden.heard(payload)
    await both.garden.restart()
    for payload in list(both.there.sent):
        both.garden.heard(payload)
    await stays(lambda: len(both.garden.used) == 1, 0.3)


async def test_a_message_that_comes_late_is_not_carried_out(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    both.there.loses = True
    with pytest.raises(OutcomeUnknown):
        await act(both)
    late = both.there.sent[1]
    both.garden.heard(late)
    await stays(lambda: both.garden.used == [], 0.3)


async def test_a_device_that_is_away_has_done_nothing(both: TwoDevices) -> None:
    both.there.is_cut = True
    with pytest.raises(LinkLost, match="does not answer"):
        await act(both)
    assert await both.kitchen.ledger.open("garden") == []


async def test_a_start_between_greeting_and_act_is_no_matter(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    await both.garden.restart()
    assert (await act(both)).outcome is Outcome.DONE
    assert len(both.garden.used) == 1


async def test_a_far_device_that_is_cut_in_the_middle_says_that_nobody_knows(
    both: TwoDevices,
) -> None:
    both.garden.may_end.clear()
    task = asyncio.ensure_future(act(both))
    await wait_until(lambda: both.garden.used)
    await both.garden.restart()
    both.garden.may_end.set()
    assert (await task).outcome is Outcome.UNKNOWN
    assert len(both.garden.used) == 1


@pytest.mark.parametrize(("point", "acts"), [("device act taken", 0), ("device act done", 1)])
async def test_a_far_device_that_is_cut_there_does_not_act_again(
    both: TwoDevices, point: str, acts: int
) -> None:
    with cut_at(point) as was_cut:
        task = asyncio.ensure_future(act(both))
        await wait_until(was_cut.is_set)
    await both.garden.restart()
    assert (await task).outcome is Outcome.UNKNOWN
    assert len(both.garden.used) == acts


async def test_a_near_device_that_is_cut_before_it_sends_tells_that_nothing_happened(
    both: TwoDevices,
) -> None:
    with cut_at("device act asked"), pytest.raises(asyncio.CancelledError):
        await act(both)
    await both.kitchen.restart()
    async with settling(both):
        await wait_until(lambda: both.kitchen.told)
    assert "it was not done" in both.kitchen.told[0]
    assert both.garden.used == []


async def test_a_cut_is_told_as_unknown_and_settled_when_it_is_over(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    both.back.loses = True
    with pytest.raises(OutcomeUnknown, match="outcome unknown at garden"):
        await act(both)
    both.back.loses = False
    async with settling(both):
        await wait_until(lambda: both.kitchen.told)
        await wait_until(lambda: _none_open(both))
    [told] = both.kitchen.told
    assert told.startswith("garden was to turn the pump on")
    assert "it was done" in told


async def test_what_never_came_is_settled_so_that_it_never_happens(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    both.there.loses = True
    with pytest.raises(OutcomeUnknown):
        await act(both)
    sent = list(both.there.sent)
    both.there.loses = False
    async with settling(both):
        await wait_until(lambda: both.kitchen.told)
    assert "it was not done, and will not be" in both.kitchen.told[0]
    for payload in sent:
        both.garden.heard(payload)
    await stays(lambda: both.garden.used == [], 0.3)


async def test_a_near_device_that_is_killed_tells_after_its_start(both: TwoDevices) -> None:
    both.garden.may_end.clear()
    task = asyncio.ensure_future(act(both))
    await wait_until(lambda: both.garden.used)
    task.cancel()
    await asyncio.wait([task])
    await both.kitchen.restart()
    async with settling(both):
        await stays(lambda: both.kitchen.told == [], 0.2)
        both.garden.may_end.set()
        await wait_until(lambda: both.kitchen.told)
    assert "it was done" in both.kitchen.told[0]
    assert len(both.garden.used) == 1


async def test_a_lost_ledger_is_no_proof_that_nothing_happened(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    both.back.loses = True
    with pytest.raises(OutcomeUnknown):
        await act(both)
    await both.garden.stop()
    for path in both.garden.folder.glob("far.db*"):
        path.unlink()
    both.garden.start()
    both.back.loses = False
    async with settling(both):
        await wait_until(lambda: both.kitchen.told)
    assert "nobody knows whether it was done" in both.kitchen.told[0]
    assert len(both.garden.used) == 1


async def test_a_refusal_of_the_far_owner_is_told_as_such(both: TwoDevices) -> None:
    both.garden.refuses = True
    reply = await act(both)
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "the owner said no")


async def test_relayed_words_are_marked_as_such(both: TwoDevices) -> None:
    await act(both, is_relayed=True)
    assert both.garden.used[0].is_relayed


async def test_only_what_is_lent_is_used(both: TwoDevices) -> None:
    led = ("board_gpio_write", '{"pin":"led","value":"on"}')
    relayed = [
        await both.kitchen.caller.act(tool, said, "do it", is_relayed=False)
        for tool, said in (led, ("shell", "{}"), ("board_board_gpio_write", "{}"))
    ]
    looked = await both.kitchen.caller.look(*WRITE)
    assert {one.outcome for one in (*relayed, looked)} == {Outcome.REFUSED}
    assert both.garden.used == []


async def test_a_device_that_nobody_paired_is_told_how(both: TwoDevices) -> None:
    both.garden.role = ""
    reply = await act(both)
    assert reply.outcome is Outcome.REFUSED
    assert "barnacle pair --device kitchen" in reply.text


async def test_a_forged_or_reflected_message_is_dropped(both: TwoDevices) -> None:
    await act(both)
    # On a busy machine the act was said more than once: each time is answered
    await stays(lambda: True, 0.2)
    # On one that is busier still its outcome was asked for, in which no pin stands
    sent = [one for one in both.there.sent if b"pump" in one][-1]
    answered = both.back.sent[-1]
    before = len(both.back.sent)
    flipped = bytes([sent[0] ^ 1]) + sent[1:]
    changed = sent.replace(b"pump", b"plug")
    for payload in (flipped, changed, answered, b"", b"x" * 200_000):
        both.garden.heard(payload)
    both.garden.channel.heard("stranger", sent, both.back.send)
    await stays(lambda: len(both.back.sent) == before, 0.2)
    assert len(both.garden.used) == 1


async def test_more_than_a_person_asks_is_dropped(both: TwoDevices) -> None:
    await both.kitchen.caller.greet()
    payload = both.there.sent[-1]
    for _ in range(400):
        both.garden.heard(payload)
        await asyncio.sleep(0)
    assert len(both.back.sent) <= 241


class Network:
    """Way to the garden, which gets another address; old connections stay, and lead nowhere."""

    def __init__(self, both: TwoDevices, port: int) -> None:
        self._both = both
        self._changes = 0
        post = DirectPost("kitchen", "127.0.0.1", port, self._heard)
        self._seal = DeviceSeal("kitchen", "garden", KEY)
        self.caller = DeviceCaller(self._seal, post, both.kitchen.ledger, both.kitchen.clock)

    def change(self) -> None:
        self._changes += 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun = self._changes
        await read_framed(reader, 64)
        while payload := await read_framed(reader, MAX_MESSAGE_BYTES):
            if begun == self._changes:
                answer = partial(write_framed, writer)
                self._both.garden.channel.heard("kitchen", payload, answer)

    def _heard(self, payload: bytes) -> None:
        if (reply := self._seal.opened(payload).reply) is not None:
            self.caller.heard(reply)


@pytest.fixture
async def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Network]:
    made: list[Network] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await made[0].serve(reader, writer)

    async with two_devices(tmp_path) as both, serving(serve) as url:
        made.append(Network(both, int(url.rpartition(":")[2])))
        await made[0].caller.greet()
        for name, value_s in (("SAY_AGAIN_S", 0.2), ("ANSWER_S", 1.0)):
            monkeypatch.setattr(near, name, value_s)
        yield made[0]
        made[0].caller.hang_up()


async def test_a_device_with_another_address_is_found_again(network: Network) -> None:
    network.change()

    async def is_found() -> bool:
        with contextlib.suppress(LinkLost):
            await network.caller.greet()
        return not network.caller.is_away

    assert not await is_found()
    await wait_until(is_found, 20.0)


async def test_an_act_goes_by_another_connection_where_one_says_nothing(network: Network) -> None:
    network.change()
    reply = await network.caller.act(*WRITE, "turn the pump on", is_relayed=False)
    assert reply.outcome is Outcome.DONE


@pytest.mark.parametrize("version", [b'"manifest":9', b'"manifest":"?"'])
async def test_a_board_of_another_version_is_left_out_and_the_rest_goes_on(
    both: TwoDevices, monkeypatch: pytest.MonkeyPatch, version: bytes
) -> None:
    encoded = msgspec.json.encode
    monkeypatch.setattr(
        "agent.devices.host.msgspec.json.encode",
        lambda told: encoded(told).replace(b'"manifest":1', version),
    )
    async with settling(both):
        await wait_until(lambda: both.kitchen.caller.greeting)
    assert both.kitchen.caller.greeting is not None
    assert both.kitchen.caller.greeting.boards == ()
    # Nothing else of it is lost
    assert (await both.kitchen.caller.greet()).session
