"""Devices that get another name while nobody knows what became of an act."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.devices import caller as near
from agent.devices.caller import DeviceCaller
from agent.devices.channel import DevicesChannel, OtherDevice
from agent.devices.host import DeviceHost, UseLent
from agent.devices.wire import DeviceSeal
from agent.errors import OutcomeUnknown
from tests.fakes.two_devices import KEY, WRITE, TwoDevices, two_devices
from tests.waits import stays, wait_until


@pytest.fixture
async def cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoDevices]:
    """An act was done, and its answer never came."""
    for name, value_s in (
        ("SAY_AGAIN_S", 0.05),
        ("SILENT_S", 0.6),
        ("BEGUN_WITHIN_S", 0.3),
        ("SETTLE_EVERY_S", 0.05),
    ):
        monkeypatch.setattr(near, name, value_s)
    async with two_devices(tmp_path) as both:
        await both.kitchen.caller.greet()
        both.back.loses = True
        with pytest.raises(OutcomeUnknown):
            await both.kitchen.caller.act(*WRITE, "turn the pump on", is_relayed=False)
        both.back.loses = False
        assert len(both.garden.used) == 1
        yield both


async def _use_nothing(_wanted: UseLent) -> None:
    """Take no calls."""


def _nobody(_name: str) -> None:
    """Know nobody."""


async def test_under_another_name_of_ours_nobody_says_that_it_was_not_done(
    cut_off: TwoDevices,
) -> None:
    kitchen, garden = cut_off.kitchen, cut_off.garden
    here, there = DeviceSeal("cook", "garden", KEY), DeviceSeal("garden", "cook", KEY)
    host = DeviceHost(
        {"cook": garden.loan}, [garden.board], garden.ledger, _use_nothing, _nobody, garden.clock
    )
    asking = DeviceCaller(there, cut_off.back, garden.ledger, garden.clock)
    channel = DevicesChannel({"cook": OtherDevice(there, asking)}, host, garden.clock, kitchen.tell)
    caller = DeviceCaller(here, cut_off.there, kitchen.ledger, kitchen.clock)

    def answered(payload: bytes) -> None:
        if (reply := here.opened(payload).reply) is not None:
            caller.heard(reply)

    cut_off.there.deliver = lambda payload: channel.heard("cook", payload, cut_off.back.send)
    cut_off.back.deliver = answered
    settling = asyncio.ensure_future(caller.run(kitchen.tell))
    await wait_until(lambda: kitchen.told)
    settling.cancel()
    await asyncio.wait([settling])
    assert "nobody knows whether it was done" in kitchen.told[0]


async def test_an_act_of_a_device_that_is_not_configured_any_more_is_told_once(
    cut_off: TwoDevices,
) -> None:
    kitchen = cut_off.kitchen
    seal = DeviceSeal("kitchen", "meadow", KEY)
    caller = DeviceCaller(seal, cut_off.there, kitchen.ledger, kitchen.clock)
    host = DeviceHost({}, [], kitchen.ledger, _use_nothing, _nobody, kitchen.clock)
    others = {"meadow": OtherDevice(seal, caller)}
    channel = DevicesChannel(others, host, kitchen.clock, kitchen.tell)

    async def nobody(_message: object) -> None:
        """Take what the channel brings."""

    listening = asyncio.ensure_future(channel.listen(nobody))
    await wait_until(lambda: kitchen.told)
    await stays(lambda: len(kitchen.told) == 1, 0.2)
    listening.cancel()
    await asyncio.wait([listening])
    assert "garden was to turn the pump on" in kitchen.told[0]
    assert "nobody knows whether it was done" in kitchen.told[0]
    assert await kitchen.ledger.open("garden") == []
