"""Updates over the link, the code of the firmware under CPython: whatever happens, it boots."""

import contextlib
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.link import frame
from tests.fakes.flash import NativeFlash, PowerCut, SharedSectorFlash, WriteBackFlash
from tests.firmware.update_on_cpython import (
    BEGIN,
    CONFIRM,
    FINISH,
    REVERT,
    STATE,
    WRITE,
    Board,
    Refusal,
    Reset,
    board_with,
    image,
)

NEW = image(2)


@pytest.fixture
def board() -> Iterator[Board]:
    with board_with(NativeFlash()) as made:
        yield made


def test_a_new_version_runs_once_it_was_confirmed(board: Board) -> None:
    board.update(NEW)
    assert (board.power_on(), board.slots.trial, board.build()) == (1, False, 2)


def test_updates_go_back_and_forth_between_the_slots(board: Board) -> None:
    for version in range(2, 6):
        board.update(image(version))
        assert (board.power_on(), board.build()) == ((version - 1) % 2, version)


def test_the_state_says_what_runs_and_how_much_fits(board: Board) -> None:
    flash_class, running, flags, room = struct.unpack("<BBBI", board.run(STATE))
    assert (flash_class, running, flags) == (3, 0, 0)
    assert room == 2 * 4096 - 256


@pytest.mark.parametrize("sent", [0, 199, 200, 2_047, 2_048, 2_100, len(NEW) - 1])
def test_a_cut_transfer_goes_on_where_it_was(board: Board, sent: int) -> None:
    offset = board.send(NEW, until=sent)
    board.greet()
    assert board.begin(NEW) == offset
    board.update(NEW)
    assert board.build() == 2


def test_after_a_restart_it_goes_on_from_what_is_in_flash(board: Board) -> None:
    board.send(NEW, until=2_400)
    board.power_on()
    resumed = board.begin(NEW)
    assert resumed == 2_000 // 32 * 32
    board.update(NEW)
    assert board.build() == 2


def test_another_image_starts_from_the_beginning(board: Board) -> None:
    board.send(NEW, until=2_400)
    assert board.begin(image(3)) == 0


def test_what_comes_out_of_order_changes_nothing(board: Board) -> None:
    board.begin(NEW)
    for offset in (200, 2_000, 2**32 - 1):
        wanted = board.run(WRITE, struct.pack("<I", offset) + NEW[:200])
        assert struct.unpack("<I", wanted) == (0,)
    board.update(NEW)
    assert board.build() == 2


def test_a_damaged_image_is_never_started(board: Board) -> None:
    board.begin(NEW)
    spoiled = bytearray(NEW)
    spoiled[1_000] ^= 1
    offset = 0
    while offset < len(NEW):
        arguments = struct.pack("<I", offset) + bytes(spoiled[offset : offset + 200])
        (offset,) = struct.unpack("<I", board.run(WRITE, arguments))
    with pytest.raises(Refusal, match="not what was sent"):
        board.run(FINISH)
    assert board.begin(NEW) == 0
    assert (board.power_on(), board.build()) == (0, 1)


def test_half_an_image_is_not_finished(board: Board) -> None:
    board.send(NEW, until=1_000)
    with pytest.raises(Refusal, match="not all"):
        board.run(FINISH)


def test_firmware_for_another_board_is_refused(board: Board) -> None:
    board.send(image(2, board="kitchen"))
    with pytest.raises(Refusal, match="another board"):
        board.run(FINISH)
    assert board.power_on() == 0


def test_an_image_without_an_end_is_refused(board: Board) -> None:
    with pytest.raises(Refusal, match="no room"):
        board.begin(image(2, 2 * 4096))


def test_flash_is_not_erased_while_an_output_is_on(board: Board) -> None:
    arguments = struct.pack("<I", len(NEW)) + hashlib.sha256(NEW).digest()
    with pytest.raises(Refusal, match="erasing"):
        board.run(BEGIN, arguments)
    board.outputs.held = 1
    for _ in range(20):
        board.tick()
    board.outputs.held = 0
    # It is where it was
    with pytest.raises(Refusal, match="erasing"):
        board.run(BEGIN, arguments)
    assert board.begin(NEW) == 0


def test_outputs_that_are_on_come_first(board: Board) -> None:
    board.begin(NEW)
    board.outputs.held = 1
    for action, arguments in (
        (BEGIN, bytes(36)),
        (WRITE, bytes(4) + NEW[:200]),
        (FINISH, b""),
        (REVERT, b""),
    ):
        with pytest.raises(Refusal) as refused:
            board.run(action, arguments)
        assert refused.value.code == frame.UNSAFE_STATE


def test_every_operation_of_the_flash_is_announced(board: Board) -> None:
    board.send(NEW)
    pages, flushes = 2, len(NEW) // 2_048
    assert len(board.busy_ms) == pages + flushes


def test_an_unknown_action_and_a_short_request_are_refused(board: Board) -> None:
    for action, arguments in ((9, b""), (BEGIN, b"\1"), (WRITE, b"")):
        with pytest.raises(Refusal):
            board.run(action, arguments)


def test_a_version_that_nobody_greets_is_given_up_after_three_strikes(board: Board) -> None:
    board.send(NEW)
    board.finish()
    for _ in range(3):
        assert (board.slots.running, board.slots.trial) == (1, True)
        board.tick(9_999)
        with pytest.raises(Reset):
            board.tick(1)
        board.boot()
    assert (board.slots.running, board.slots.trial) == (0, False)


def test_a_version_that_is_greeted_and_never_confirmed_is_given_up(board: Board) -> None:
    board.send(NEW)
    board.finish()
    board.greet()
    board.tick(20_000)
    with pytest.raises(Reset):
        board.tick(10_000)


def test_a_confirmed_version_is_left_alone(board: Board) -> None:
    board.update(NEW)
    board.tick(100_000)
    board.run(CONFIRM)


def test_a_version_without_memory_is_not_confirmed(board: Board) -> None:
    board.send(NEW)
    board.finish()
    board.slots.gc.mem_free = lambda: 100
    with pytest.raises(Refusal, match="memory"):
        board.run(CONFIRM)
    assert board.slots.trial


def test_it_goes_back_when_told_to(board: Board) -> None:
    board.update(NEW)
    board.run(REVERT)
    with pytest.raises(Reset):
        board.tick(1_000)
    assert (board.boot(), board.build()) == (0, 1)
    with pytest.raises(Refusal, match="no other version"):
        board.run(REVERT)


def test_no_second_update_while_one_is_on_trial(board: Board) -> None:
    board.send(NEW)
    board.finish()
    with pytest.raises(Refusal, match="on trial"):
        board.run(BEGIN, bytes(36))


def test_a_board_whose_flash_cannot_says_so() -> None:
    store = NativeFlash()
    store.CLASS = 0
    with board_with(store) as board:
        assert struct.unpack("<BBBI", board.run(STATE)) == (0, 0, 0, 0)
        with pytest.raises(Refusal) as refused:
            board.run(BEGIN, bytes(36))
        assert refused.value.code == frame.NOT_SUPPORTED


def cut_everywhere(make: type[NativeFlash]) -> list[int]:
    """Cut the power at every operation of an update; at which of them nothing booted any more."""
    broken = []
    with board_with(make()) as board:
        for cut_at in range(10_000):
            board.replace_flash(make())
            board.store.cut_at = board.store.operations + cut_at
            try:
                board.update(NEW)
            except PowerCut:
                pass
            else:
                return broken
            if board.power_on() is None:
                broken.append(cut_at)
                continue
            assert board.build() in {1, 2}
            finish_after_a_cut(board)
    raise AssertionError("an update without an end")


def finish_after_a_cut(board: Board) -> None:
    """Whatever the cut left, the update can be done."""
    if board.build() == 1:
        with contextlib.suppress(PowerCut):
            board.update(NEW)
    elif board.slots.trial:
        board.greet()
        board.run(CONFIRM)
    assert board.power_on() is not None
    assert board.build() == 2


@pytest.mark.parametrize("make", [NativeFlash, WriteBackFlash])
def test_a_power_cut_at_every_write_always_leaves_a_version_that_boots(make: Any) -> None:
    assert cut_everywhere(make) == []


def test_slots_that_share_a_sector_can_be_lost() -> None:
    # Why files on such flash are a class of their own, and promise less
    assert cut_everywhere(SharedSectorFlash) != []


def test_files_as_slots(tmp_path: Path) -> None:
    with board_with(NativeFlash()) as board:
        store = board.slots.Files(str(tmp_path))
        store.power_on = lambda: None
        board.store = store
        board.install(image(1))
        board.power_on()
        for version in (2, 3):
            board.update(image(version))
            assert board.power_on() is not None
            assert board.build() == version
        assert {path.name for path in tmp_path.iterdir()} == {"slot_a", "slot_b"}


def test_a_file_that_was_cut_goes_on_or_starts_again(tmp_path: Path) -> None:
    with board_with(NativeFlash()) as board:
        store = board.slots.Files(str(tmp_path))
        store.power_on = lambda: None
        board.store = store
        board.install(image(1))
        board.power_on()
        for left in (0, 10, 100, 256, 300, 2_000):
            board.send(NEW, until=2_500)
            file = tmp_path / "slot_b"
            file.write_bytes(file.read_bytes()[:left])
            assert board.power_on() == 0
        board.update(NEW)
        assert board.build() == 2
