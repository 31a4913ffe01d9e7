"""Updates over the link with the real firmware in the real interpreter, on flash in a file."""

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.link import frame
from firmware.host import image as images
from firmware.host.bundle import BundledFile, bundle
from firmware.host.wire import Refused, Silence, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import begin_update, send_update, update
from tests.firmware.conftest import simulated
from tests.firmware.methods import ON, switch
from tests.waits import wait_until_sync

STATE, FINISH, CONFIRM = 0, 3, 4
START_LIMIT_S = 8.0
BUILD = 5


@pytest.fixture(scope="module")
def new() -> bytes:
    """What runs already, as an image that says another build."""
    files = [file for file in bundle("simulated") if file.target not in images.OUTSIDE]
    description = files.pop()
    text = description.content.replace(b"BUILD = ", b"BUILD = 77 or ")
    about = BundledFile("about.json", b'{"board":"simulated","build":77,"version":[9,0,0]}')
    return images.joined([about, *files, BundledFile("description.py", text)])


@pytest.fixture
def board(tmp_path: Path) -> Iterator[BoardSim]:
    with simulated(tmp_path) as started:
        yield started


def finish(wire: Wire, board: BoardSim) -> None:
    """Return when the board starts again: it waits for 0.3 s, so that its answer gets out."""
    before = starts(board)
    update(wire, FINISH)
    wait_until_sync(lambda: starts(board) > before)


def starts(board: BoardSim) -> int:
    return len([event for event in board.record() if event["event"] == "boot"])


def greeted(board: BoardSim) -> Wire:
    """A session with whatever runs after the restart."""
    until_s = time.monotonic() + START_LIMIT_S
    while True:
        wire = Wire(str(board.port))
        try:
            wire.greet()
        except Silence:
            wire.close()
            assert time.monotonic() < until_s
        else:
            return wire


def test_a_new_version_is_tried_confirmed_and_kept(board: BoardSim, new: bytes) -> None:
    with greeted(board) as wire:
        assert wire.greeting[BUILD] != 77
        send_update(wire, new)
        finish(wire, board)
    with greeted(board) as wire:
        assert wire.greeting[BUILD] == 77
        assert struct.unpack("<BBB", update(wire, STATE)[:3]) == (3, 1, 1)
        update(wire, CONFIRM)
        assert switch(wire, "led", ON) == ON
    assert board.value("led") == 1


def test_an_output_that_is_on_refuses_the_update(board: BoardSim, new: bytes) -> None:
    with greeted(board) as wire:
        switch(wire, "pump", ON)
        with pytest.raises(Refused) as refused:
            begin_update(wire, new)
        assert refused.value.code == frame.UNSAFE_STATE
        assert board.value("pump") == 1


def test_a_version_that_cannot_start_is_given_up(board: BoardSim) -> None:
    about = BundledFile("about.json", b'{"board":"simulated","build":78}')
    broken = images.joined([about, BundledFile("board.py", b"raise ValueError\n")])
    with greeted(board) as wire:
        before = wire.greeting[BUILD]
        send_update(wire, broken)
        finish(wire, board)
    with greeted(board) as wire:
        assert wire.greeting[BUILD] == before
    assert starts(board) == 1 + 3 + 1


@pytest.mark.parametrize("cut_after", [0, 7, 8, 60])
def test_a_power_cut_leaves_a_board_that_boots_and_can_be_updated(
    board: BoardSim, new: bytes, cut_after: int
) -> None:
    with greeted(board) as wire:
        before = wire.greeting[BUILD]
        board.order({"cut_power_after": cut_after})
        with pytest.raises(Silence):
            send_update(wire, new)
    with greeted(board) as wire:
        assert wire.greeting[BUILD] == before
        send_update(wire, new)
        finish(wire, board)
    with greeted(board) as wire:
        assert wire.greeting[BUILD] == 77
