import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from agent.link.connection import BoardConnection
from agent.link.session import Request
from tests.fakes.peer import READ
from tests.fakes.rates import (
    START_BAUD,
    TOP_BAUD,
    PoorCablePort,
    RatedBoard,
    RatedPort,
    WearingCablePort,
)
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

ASK = Request(READ, b"\0", 1_000)


@contextlib.asynccontextmanager
async def greeted(port: RatedPort) -> AsyncIterator[BoardConnection]:
    async with BoardConnection(port, LoopClock()) as connection:
        await connection.greet()
        yield connection


@in_virtual_time
async def test_both_ends_go_up_and_stay_up() -> None:
    port = RatedPort(RatedBoard())
    async with greeted(port) as connection:
        assert await connection.call(ASK) == b"\0"
        await elapse(30)
        assert await connection.call(ASK) == b"\0"
        assert (port.baud, port.board.bauds) == (TOP_BAUD, [START_BAUD, TOP_BAUD])
        counters = connection.session.counters
        assert (counters.baud, counters.frames_resent, counters.frames_dropped) == (TOP_BAUD, 0, 0)


@in_virtual_time
async def test_a_board_that_agrees_to_less_gets_that() -> None:
    port = RatedPort(RatedBoard(top_baud=230_400))
    async with greeted(port) as connection:
        assert await connection.call(ASK) == b"\0"
        assert (port.baud, port.board.baud) == (230_400, 230_400)


@pytest.mark.parametrize("top_baud", [0, None])
def test_a_board_that_refuses_or_does_not_know_works_at_the_start_rate(
    top_baud: int | None,
) -> None:
    @in_virtual_time
    async def connect() -> None:
        port = RatedPort(RatedBoard(top_baud))
        async with greeted(port) as connection:
            for _ in range(20):
                assert await connection.call(ASK) == b"\0"
                await elapse(0.2)
            assert (port.baud, connection.session.counters.baud) == (START_BAUD, START_BAUD)
            assert port.board.offers == [TOP_BAUD]

    connect()


@in_virtual_time
async def test_an_answer_that_is_lost_costs_a_second_and_no_call() -> None:
    port = RatedPort(RatedBoard())
    port.board.loses_its_answer = True
    async with greeted(port) as connection:
        began_s = asyncio.get_running_loop().time()
        assert await connection.call(ASK) == b"\0"
        assert asyncio.get_running_loop().time() - began_s < 2
        assert port.board.bauds == [START_BAUD, TOP_BAUD, START_BAUD]
        await elapse(10)
        assert await connection.call(ASK) == b"\0"
        assert (port.baud, port.board.offers) == (START_BAUD, [TOP_BAUD])


@in_virtual_time
async def test_a_rate_that_the_cable_does_not_carry_is_left_by_both_and_not_tried_again() -> None:
    port = PoorCablePort(RatedBoard())
    async with greeted(port) as connection:
        assert await connection.call(ASK) == b"\0"
        await elapse(10)
        assert await connection.call(ASK) == b"\0"
        assert (port.baud, port.board.bauds) == (START_BAUD, [START_BAUD, TOP_BAUD, START_BAUD])
        assert port.board.offers == [TOP_BAUD]


@in_virtual_time
async def test_a_cable_that_becomes_worse_brings_both_back_within_the_same_session() -> None:
    port = WearingCablePort(RatedBoard())
    async with greeted(port) as connection:
        assert await connection.call(ASK) == b"\0"
        port.is_worn = True
        assert await connection.call(Request(READ, b"\0", 4_000)) == b"\0"
        assert (port.baud, port.board.greetings) == (START_BAUD, 1)
        assert connection.session.counters.baud == START_BAUD


@in_virtual_time
async def test_a_new_connection_tries_again() -> None:
    board = RatedBoard()
    async with greeted(PoorCablePort(board)) as connection:
        await connection.call(ASK)
    port = RatedPort(board)
    async with greeted(port) as connection:
        assert await connection.call(ASK) == b"\0"
        assert (port.baud, board.offers) == (TOP_BAUD, [TOP_BAUD, TOP_BAUD])


@in_virtual_time
async def test_an_agent_that_comes_back_at_once_finds_a_board_that_is_still_up() -> None:
    board = RatedBoard()
    async with greeted(RatedPort(board)) as connection:
        await connection.call(ASK)
    assert board.baud == TOP_BAUD
    async with greeted(RatedPort(board)) as connection:
        assert await connection.call(ASK) == b"\0"


@in_virtual_time
async def test_a_stop_while_the_rate_changes_reaches_the_board() -> None:
    port = PoorCablePort(RatedBoard())
    async with greeted(port) as connection:
        # Both are at a rate that carries nothing
        await elapse(0.1)
        assert port.baud == TOP_BAUD
        connection.stop()
        await elapse(3)
        assert port.board.reason
