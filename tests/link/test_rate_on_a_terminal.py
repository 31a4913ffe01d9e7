"""The real firmware at the end of a line that is paced, and rubbish where its ends differ."""

import contextlib
import math
import os
import termios
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.link.connection import BoardConnection
from agent.link.port import open_port
from agent.link.session import Request
from agent.system.clock import SystemClock
from scripts.lib.bench.lines import RatedLine
from scripts.lib.bench.relay import relay
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.waits import stays

START, TOP = 115_200, 921_600
# An end that gets no processor in the second of the trial stays below until the next greeting
CONNECTIONS = 4
# Less than it takes the second ping at the new rate to come
WRITTEN_BEFORE_S = 0.05
READ = Request(17, b"\0", 3_000)
SPEEDS = {getattr(termios, f"B{baud}"): baud for baud in (START, 230_400, 460_800, TOP)}


class Ends:
    """What each end of the line says that its rate is."""

    def __init__(self, board: BoardSim) -> None:
        self.terminal = -1
        self._board = board

    def near(self) -> int:
        return SPEEDS[termios.tcgetattr(self.terminal)[5]] if self.terminal >= 0 else START

    def far(self) -> int:
        # What was written before a change may still be on its way to whoever carries it
        return [START, *self.changes(time.monotonic() - WRITTEN_BEFORE_S)][-1]

    def changes(self, until_s: float = math.inf) -> list[int]:
        return [
            event["baud"]
            for event in self._board.record()
            if event["event"] == "rate" and event["ms"] <= until_s * 1000
        ]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[BoardSim]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with BoardSim(tmp_path) as started:
        yield started


@contextlib.asynccontextmanager
async def connected(board: BoardSim, best_baud: int) -> AsyncIterator[tuple[BoardConnection, Ends]]:
    ends = Ends(board)
    there = RatedLine(ends.near, ends.far, best_baud)
    back = RatedLine(ends.far, ends.near, best_baud)
    with relay(board.port, there, back) as path:
        port = await open_port(path, START, TOP)
        ends.terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
        try:
            async with BoardConnection(port, SystemClock()) as connection:
                await connection.greet()
                yield connection, ends
        finally:
            handle, ends.terminal = ends.terminal, -1
            os.close(handle)


async def test_both_ends_go_up_and_requests_go_through(board: BoardSim) -> None:
    for _ in range(CONNECTIONS):
        async with connected(board, best_baud=TOP) as (connection, ends):
            for _ in range(20):
                assert await connection.call(READ) == b"\0"
            rates = (ends.near(), ends.far(), connection.session.counters.baud)
        if rates != (START, START, START):
            break
    assert rates == (TOP, TOP, TOP)


async def test_a_line_that_is_too_poor_for_it_ends_at_the_start_rate(board: BoardSim) -> None:
    async with connected(board, best_baud=START) as (connection, ends):
        began_s = time.monotonic()
        assert await connection.call(READ) == b"\0"
        # Both have waited their second; a busy machine takes a little more
        assert 0.9 < time.monotonic() - began_s < 5
        await stays(lambda: ends.changes() == [TOP, START], 1.2)
        assert await connection.call(READ) == b"\0"
        assert ends.changes() == [TOP, START]
        assert (ends.near(), connection.session.counters.baud) == (START, START)
