import os
import pty
import tty
from pathlib import Path

from agent.clock import SystemClock
from agent.link.probe import what_is_at


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
