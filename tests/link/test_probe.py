import os
import pty
import re
import tty
from pathlib import Path

import pytest

from agent.clock import SystemClock
from agent.link.probe import what_is_at
from tests.fakes.board_sim import BoardSim


async def test_a_port_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = await what_is_at(str(tmp_path / "none"), 115_200, SystemClock())
    assert said.endswith("none is not there: is the board plugged in?")


async def test_silence_is_told() -> None:
    near, far = pty.openpty()
    tty.setraw(far)
    try:
        said = await what_is_at(os.ttyname(far), 115_200, SystemClock())
    finally:
        os.close(near)
        os.close(far)
    assert "nothing answers" in said


@pytest.mark.usefixtures("micropython_command")
async def test_a_board_is_told_by_name_and_firmware(tmp_path: Path) -> None:
    with BoardSim(tmp_path) as board:
        said = await what_is_at(str(board.port), 115_200, SystemClock())
    assert re.fullmatch(r"simulated, firmware \d+\.\d+\.\d+ \(build \d+\)", said)
