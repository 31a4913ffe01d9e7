import pytest

from agent.errors import CallRefused, LinkLost
from agent.link import frame as wire
from agent.link import reflex_slots
from agent.link.reflex_slots import Durability, ReflexSlot, ReflexSlots, SlotState
from tests.fakes.board import FakeBoard
from tests.fakes.reflex_table import ReflexTable

RAW = bytes(wire.RULE_BYTES)


@pytest.fixture
def table() -> ReflexTable:
    return ReflexTable()


@pytest.fixture
def board(table: ReflexTable) -> FakeBoard:
    return FakeBoard(link_methods={wire.METHOD_REFLEX: table})


async def test_a_board_without_rules_has_none(board: FakeBoard) -> None:
    assert await reflex_slots.read(board) == ReflexSlots(Durability.STORED, ())


async def test_rules_are_put_told_paused_and_deleted(board: FakeBoard, table: ReflexTable) -> None:
    for _ in range(3):
        await reflex_slots.put(board, RAW)
    table.happen(1, 1, 5, 2, wire.BUSY_CODE, 30)
    await reflex_slots.delete(board, 0)
    await reflex_slots.enable(board, 2, is_enabled=False)
    assert (await reflex_slots.read(board)).slots == (
        ReflexSlot(1, SlotState.ACTIVE, 5, 2, "busy", 30, RAW),
        ReflexSlot(2, SlotState.PAUSED, 0, 0, "", 0, RAW),
    )
    await reflex_slots.enable(board, 2, is_enabled=True)
    assert (await reflex_slots.read(board)).slots[1].state is SlotState.ACTIVE


async def test_what_only_newer_firmware_knows_is_unknown(
    board: FakeBoard, table: ReflexTable
) -> None:
    await reflex_slots.put(board, RAW)
    table.happen(0, 77, 0, 0, 99, 0)
    table.keeping = 77
    found = await reflex_slots.read(board)
    assert found.keeping is Durability.UNKNOWN
    assert (found.slots[0].state, found.slots[0].refusal) == (SlotState.UNKNOWN, "code 99")


@pytest.mark.parametrize("answer", [b"", b"\x00", b"\x00\x01", b"\x00\x02" + bytes(19)])
async def test_a_short_answer_is_a_failure(board: FakeBoard, answer: bytes) -> None:
    board.link_methods[wire.METHOD_REFLEX] = lambda _: answer
    with pytest.raises(CallRefused, match="too short"):
        await reflex_slots.read(board)


async def test_a_board_that_is_away_cannot_be_asked(board: FakeBoard) -> None:
    board.unplug()
    with pytest.raises(LinkLost):
        await reflex_slots.read(board)
