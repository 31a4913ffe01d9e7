"""An act that takes long at the other device is waited for, and asked after at leisure."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.devices import caller as near
from agent.devices.wire import Outcome
from tests.fakes.two_devices import WRITE, TwoDevices, two_devices
from tests.waits import stays, wait_until


@pytest.fixture
async def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoDevices]:
    for name, value_s in (("SAY_AGAIN_S", 0.05), ("SILENT_S", 0.6), ("BEGUN_WITHIN_S", 0.3)):
        monkeypatch.setattr(near, name, value_s)
    async with two_devices(tmp_path) as made:
        yield made


async def test_an_act_at_work_is_asked_after_no_oftener_than_it_is_said(both: TwoDevices) -> None:
    both.garden.may_end.clear()
    task = asyncio.ensure_future(
        both.kitchen.caller.act(*WRITE, "turn the pump on", is_relayed=False)
    )
    await wait_until(lambda: both.garden.used)
    # The far owner thinks: longer than silence is borne
    await stays(lambda: not task.done(), 1.2)
    assert len(both.there.sent) < 40
    both.garden.may_end.set()
    assert (await task).outcome is Outcome.DONE


async def test_what_was_answered_meanwhile_is_not_told_again(
    both: TwoDevices, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, garden = both.kitchen.caller, both.garden
    garden.may_end.clear()
    left = asyncio.ensure_future(caller.act(*WRITE, "turn the pump on", is_relayed=False))
    await wait_until(lambda: len(garden.used) == 1)
    left.cancel()
    await asyncio.wait([left])
    monkeypatch.setattr(near, "SAY_AGAIN_S", 10.0)
    waited_for = asyncio.ensure_future(caller.act(*WRITE, "turn it off", is_relayed=False))
    await wait_until(lambda: len(garden.used) == 2)
    told: list[str] = []
    may_go_on = asyncio.Event()

    async def tell(text: str) -> None:
        told.append(text)
        await may_go_on.wait()

    said = len(both.there.sent)
    settling = asyncio.ensure_future(caller.run(tell))
    # The greeting, and then the first of the two acts that are open
    await wait_until(lambda: len(both.there.sent) == said + 2)
    garden.may_end.set()
    assert (await waited_for).outcome is Outcome.DONE
    await wait_until(lambda: told)
    may_go_on.set()
    await stays(lambda: len(told) == 1, 0.3)
    settling.cancel()
    await asyncio.wait([settling])
    assert "turn the pump on" in told[0]
