"""F10: frames lost, doubled, reordered, their acknowledgements lost - with the real firmware.

The agent against a scripted board, 500 commands each: tests/link/test_board_on_faulty_lines.py;
500 commands each against the firmware: scripts/bench-link.
"""

import asyncio

import pytest

from scripts.lib.bench.mangled import LINES, run

COMMANDS = 40


@pytest.mark.usefixtures("micropython_command")
@pytest.mark.parametrize("line", sorted(LINES))
async def test_every_command_runs_once_or_is_reported_unknown(line: str) -> None:
    tally = await asyncio.to_thread(run, line, COMMANDS)
    assert tally.commands == COMMANDS
    assert (tally.too_many, tally.too_few, tally.refused) == (0, 0, 0)
    # Reporting everything as unknown would be true and useless
    assert tally.told_done >= COMMANDS * 0.8
