from pathlib import Path

from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import FakePort, FakePorts, TalkingPeer
from tests.fakes.virtual_time import LoopClock, in_virtual_time

# The index of the led in the manifest
LED = 0


def board_at(machine: FakePorts, folder: Path) -> SerialBoard:
    return SerialBoard(BoardSettings(), folder, LoopClock(), machine)


@in_virtual_time
async def test_a_visit_begins_when_the_board_is_ready(tmp_path: Path) -> None:
    machine = FakePorts(lambda: FakePort(ScriptedBoard()))
    async with visit(board_at(machine, tmp_path)) as board:
        assert board.status.state is BoardState.READY


@in_virtual_time
async def test_a_visit_ends_with_outputs_safe_and_the_port_closed(tmp_path: Path) -> None:
    peer = ScriptedBoard()
    machine = FakePorts(lambda: FakePort(peer))
    async with visit(board_at(machine, tmp_path)) as board:
        await board.call("gpio_write", {"pin": "led", "value": "on"})
        assert peer.outputs[LED] == 1
    assert board.status.state is BoardState.CLOSED
    assert machine.opened[-1].is_closed
    assert peer.outputs[LED] == 0


@in_virtual_time
async def test_a_silent_port_is_waited_for_and_then_explained(tmp_path: Path) -> None:
    machine = FakePorts(lambda: FakePort(TalkingPeer(b"")))
    shown: list[BoardStatus] = []
    async with visit(board_at(machine, tmp_path), shown.append) as board:
        assert board.status.state is not BoardState.READY
        assert board.status.trouble
    assert BoardState.CONNECTING in {status.state for status in shown}


@in_virtual_time
async def test_a_missing_port_is_not_waited_for_long(tmp_path: Path) -> None:
    machine = FakePorts(lambda: FakePort(TalkingPeer(b"")))
    machine.is_there = False
    begun_s = LoopClock().monotonic_s()
    async with visit(board_at(machine, tmp_path)) as board:
        assert board.status.state is BoardState.ABSENT
    assert LoopClock().monotonic_s() - begun_s < 2
