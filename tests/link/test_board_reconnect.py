import asyncio
from pathlib import Path

import pytest

from agent.errors import LinkLost, OutcomeUnknown
from agent.link.base import BoardState
from tests.fakes.linked_board import linked, ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import (
    CutPort,
    EchoPeer,
    FakePort,
    FakePorts,
    Peer,
    SlowPort,
    TalkingPeer,
)
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

LED_ON = {"pin": "led", "value": "on"}


def now_s() -> float:
    return LoopClock().monotonic_s()


@in_virtual_time
async def test_another_protocol_refuses_the_board_until_it_is_flashed(tmp_path: Path) -> None:
    peer = ScriptedBoard(protocol=2)
    async with linked(peer, tmp_path) as link:
        await link.until(BoardState.REFUSED, "flash the firmware")
        await elapse(20)
        assert link.board.status.state is BoardState.REFUSED
        with pytest.raises(LinkLost, match="flash the firmware"):
            await link.board.call("mcu_temperature", {})
        peer.protocol = 1
        await link.until(BoardState.READY)


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        (TalkingPeer(b"MicroPython v1.25\r\n>>> "), "a MicroPython prompt answers"),
        (TalkingPeer(b""), "nothing answers at /dev/fake-port"),
        (TalkingPeer(b"\x8a\x00\x17noise\x00\xff" * 9), "is not the link protocol"),
        (EchoPeer(), "echoes"),
        (ScriptedBoard(is_silent=True), "nothing answers"),
    ],
)
def test_a_stranger_at_the_port_is_told(tmp_path: Path, peer: Peer, words: str) -> None:
    @in_virtual_time
    async def tell() -> None:
        async with linked(peer, tmp_path) as link:
            await link.until(BoardState.CONNECTING, words)
            with pytest.raises(LinkLost, match=words):
                await link.board.call("mcu_temperature", {})

    tell()


@in_virtual_time
async def test_a_port_that_cannot_be_opened_is_told_and_tried_again(tmp_path: Path) -> None:
    machine = FakePorts(lambda: FakePort(ScriptedBoard()))
    machine.refusal = "another program uses /dev/fake-port: stop it first"
    async with linked(ScriptedBoard(), tmp_path, ports=machine) as link:
        await link.until(BoardState.CONNECTING, "another program")
        machine.refusal = ""
        await link.until(BoardState.READY)


@in_virtual_time
async def test_an_unplugged_board_is_noticed_at_once_and_works_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, _board):
        link.ports.unplug()
        await asyncio.sleep(0)
        with pytest.raises(LinkLost, match="unplugged"):
            await link.board.call("mcu_temperature", {})
        await link.until(BoardState.ABSENT, "plugged in?")
        await elapse(60)
        link.ports.plug_in()
        back_s = now_s()
        await link.until(BoardState.READY)
        assert now_s() - back_s < 0.5
        assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}


@in_virtual_time
async def test_a_port_where_nothing_answers_is_tried_ever_more_rarely(tmp_path: Path) -> None:
    peer = ScriptedBoard(is_silent=True)
    async with linked(peer, tmp_path) as link:
        await elapse(60)
        opened = len(link.ports.opened)
        assert 8 <= opened <= 16
        await elapse(60)
        assert len(link.ports.opened) - opened <= 13


@in_virtual_time
async def test_another_device_at_the_path_is_tried_at_once(tmp_path: Path) -> None:
    peer = ScriptedBoard(is_silent=True)
    async with linked(peer, tmp_path) as link:
        await elapse(60)
        # As after flashing: gone and there again between two looks at the path
        link.ports.unplug()
        link.ports.plug_in()
        peer.is_silent = False
        back_s = now_s()
        await link.until(BoardState.READY)
        assert now_s() - back_s < 2.0


@in_virtual_time
async def test_a_silent_board_is_noticed_and_found_again(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.is_silent = True
        silent_s = now_s()
        await link.until(BoardState.CONNECTING, "no longer answers")
        assert now_s() - silent_s < 1.7
        board.is_silent = False
        await link.until(BoardState.READY)
        assert now_s() - silent_s < 5.0


@in_virtual_time
async def test_an_act_in_flight_when_the_link_dies_is_unknown_and_not_repeated(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 1.0
        call = asyncio.create_task(link.board.call("pulse", {"pin": "led"}))
        await elapse(0.1)
        link.ports.unplug()
        with pytest.raises(OutcomeUnknown, match="unplugged"):
            await call
        link.ports.plug_in()
        await link.until(BoardState.READY)
        await elapse(5)
        assert board.pulses == 1


@in_virtual_time
async def test_a_question_in_flight_when_the_link_dies_has_done_nothing(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 1.0
        call = asyncio.create_task(link.board.call("gpio_read", {"pin": "led"}))
        await elapse(0.1)
        link.ports.unplug()
        with pytest.raises(LinkLost, match="unplugged"):
            await call


@in_virtual_time
async def test_a_reset_board_is_told_and_its_outputs_are_not_restored(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board.reset(cause=3)
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY)
        assert "restarted (watchdog)" in link.board.status.trouble
        await elapse(10)
        assert board.outputs[0] == 0
        link.ports.unplug()
        link.ports.plug_in()
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY)
        assert link.board.status.trouble == ""


@in_virtual_time
async def test_plugging_in_is_no_trouble_and_another_board_is_no_reset(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        for cause, unique_id in ((1, board.unique_id), (3, bytes(12))):
            board.unique_id = unique_id
            board.reset(cause)
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert link.board.status.trouble == ""


@in_virtual_time
async def test_a_busy_board_is_waited_for(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.busy_ms = 1500
        await link.board.call("pulse", {"pin": "led"})
        board.busy_ms = 0
        await link.board.call("pulse", {"pin": "led"})
        assert board.pulses == 2
        assert len(link.ports.opened) == 1


@in_virtual_time
async def test_a_slow_line_is_no_reason_to_give_up(tmp_path: Path) -> None:
    async with ready(tmp_path, SlowPort) as (link, _board):
        for _ in range(20):
            await link.board.call("mcu_temperature", {})
        assert len(link.ports.opened) == 1


@in_virtual_time
async def test_a_cable_pulled_after_any_byte_leaves_a_usable_link(tmp_path: Path) -> None:
    outcomes = set()
    async with ready(tmp_path, CutPort) as (link, board):
        for cut_after in range(1, 60):
            port = link.ports.opened[-1]
            assert isinstance(port, CutPort)
            port.bytes_left = cut_after
            before = board.pulses
            try:
                await link.board.call("pulse", {"pin": "led"})
                assert board.pulses == before + 1
                outcomes.add("done")
            except OutcomeUnknown:
                assert board.pulses - before in {0, 1}
                outcomes.add("unknown")
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}
    assert outcomes == {"done", "unknown"}


@in_virtual_time
async def test_a_full_disk_costs_the_cache_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("in the way")
    async with ready(folder / "boards") as (link, _board):
        assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}
