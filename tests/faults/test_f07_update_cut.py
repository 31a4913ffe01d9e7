"""F07: an update or a flash is cut in the middle. Power cuts: tests/firmware/test_update.py."""

import itertools

import pytest

from agent.link.image import FirmwareImage, ImageDescription
from agent.link.update import Updater
from tests.fakes.flash import NativeFlash
from tests.fakes.updatable_board import UpdatableBoard
from tests.fakes.virtual_time import LoopClock, in_virtual_time
from tests.firmware.update_on_cpython import BOARD, board_with, image

NEW = FirmwareImage(ImageDescription(BOARD, 2, (0, 2, 0)), image(2))
# Erasing takes some exchanges, sending one for every 200 bytes
FEWEST_STEPS = 15


class Killed(BaseException):
    """The updater's process ends here: nothing of it gets a last word."""


class MortalUpdater(UpdatableBoard):
    """The board of an updater that is killed at one step, before or after the board has done it."""

    dies_at = 0
    after = False

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        is_last = len(self.exchanges) + 1 == self.dies_at
        if is_last and not self.after:
            raise Killed
        try:
            return await super().exchange(method, arguments)
        finally:
            if is_last:
                raise Killed


@pytest.mark.parametrize("after", [False, True])
def test_an_updater_killed_at_any_step_leaves_a_board_that_boots_and_can_be_updated(
    *, after: bool
) -> None:
    over: list[int] = []

    @in_virtual_time
    async def kill_at(step: int) -> None:
        with board_with(NativeFlash()) as hardware:
            board = MortalUpdater(hardware)
            board.dies_at, board.after = step, after
            try:
                await updater(board).run()
            except Killed:
                # As after a power cut: what is on trial and was not confirmed has a strike
                assert hardware.power_on() is not None
                assert hardware.build() in {1, 2}
                while hardware.slots.trial:
                    hardware.power_on()
                assert hardware.build() in {1, 2}
                await updater(UpdatableBoard(hardware)).run()
            else:
                over.append(step)
            assert (hardware.power_on(), hardware.slots.trial) == (hardware.slots.running, False)
            assert hardware.build() == 2

    for step in itertools.takewhile(lambda _step: not over, itertools.count(1)):
        kill_at(step)
    assert over[0] > FEWEST_STEPS


def updater(board: UpdatableBoard) -> Updater:
    return Updater(board, NEW, LoopClock(), lambda _at, _total: None)
