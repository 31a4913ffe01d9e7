import os
import pty
import re
import tty
from pathlib import Path

import pytest

from agent.cli.board import describe_port
from agent.system.clock import SystemClock
from tests.fakes.board_sim import BoardSim


async def test_a_port_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = await describe_port(str(tmp_path / "none"), 115_200, SystemClock())
    assert said.endswith("none not found: is the board plugged in?")


async def test_silence_is_told() -> None:
    near, far = pty.openpty()
    tty.setraw(far)
    try:
        said = await describe_port(os.ttyname(far), 115_200, SystemClock())
    finally:
        os.close(near)
        os.close(far)
    assert "nothing answers" in said


@pytest.mark.usefixtures("micropython_command")
async def test_a_board_is_told_by_name_and_firmware(tmp_path: Path) -> None:
    with BoardSim(tmp_path) as board:
        said = await describe_port(str(board.port), 115_200, SystemClock())
    assert re.fullmatch(r"simulated, firmware \d+\.\d+\.\d+ \(build \d+\)", said)
