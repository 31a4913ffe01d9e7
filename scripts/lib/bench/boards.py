"""Simulated boards for measurements, and connections of the agent's own kind to them."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from agent.link.connection import BoardConnection
from agent.link.port import open_port
from agent.system.clock import SystemClock
from firmware.host.bundle import board_file
from tests.fakes.board_sim import BoardSim

BAUD = 115_200
GPIO_WRITE = 16
GPIO_READ = 17
ROWS = board_file("simulated").PINS
PINS = {row["name"]: bytes([index]) for index, row in enumerate(ROWS)}
# Nothing in it moves by itself
STILL = {"values": {"temperature": 24.5, "a0": 1.5, "light": 2.0, "button": 0}, "script": []}


@contextlib.contextmanager
def boards(count: int) -> Iterator[list[BoardSim]]:
    """So many boards, each in its own process."""
    with (
        tempfile.TemporaryDirectory(prefix="barnacle-bench-") as name,
        contextlib.ExitStack() as on,
    ):
        folders = [Path(name) / str(number) for number in range(count)]
        for folder in folders:
            folder.mkdir()
        yield [on.enter_context(BoardSim(folder, STILL)) for folder in folders]


@contextlib.contextmanager
def one_board() -> Iterator[BoardSim]:
    with boards(1) as (board,):
        yield board


@contextlib.asynccontextmanager
async def connected(path: str) -> AsyncIterator[BoardConnection]:
    """A connection as `SerialBoard` makes it, greeted."""
    port = await open_port(path, BAUD)
    async with BoardConnection(port, SystemClock()) as connection:
        await connection.greet()
        yield connection
