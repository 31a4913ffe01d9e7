import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from agent.errors import CallRefused, LinkLost, OutcomeUnknown, WrongDevice
from agent.link import frame as wire
from agent.link.connection import ANSWER_MARGIN_S, MAX_PENDING_CALLS, BoardConnection
from agent.link.session import Request
from tests.fakes.peer import PULSE, READ, ScriptedBoard
from tests.fakes.ports import FakePort, StalledPort
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

PULSE_LED = Request(PULSE, b"\x00", 500)
READ_LED = Request(READ, b"\x00", 500)


def connected(board: ScriptedBoard) -> tuple[BoardConnection, FakePort]:
    port = FakePort(board)
    return BoardConnection(port, LoopClock()), port


async def outcome(call: Coroutine[Any, Any, bytes]) -> bytes | BaseException:
    (result,) = await asyncio.gather(call, return_exceptions=True)
    return result


@in_virtual_time
async def test_a_board_that_greets_answers_calls() -> None:
    board = ScriptedBoard()
    connection, port = connected(board)
    async with connection:
        greeting = await connection.greet()
        assert greeting.identity.board == "scripted"
        assert await connection.call(PULSE_LED) == b"\x01\0\0\0"
    assert port.is_closed
    assert board.pulses == 1


@in_virtual_time
async def test_every_connection_has_its_own_nonce() -> None:
    board = ScriptedBoard()
    nonces = set()
    for _ in range(5):
        connection, _port = connected(board)
        async with connection:
            nonces.add((await connection.greet()).nonce)
    assert len(nonces) == 5
    assert 0 not in nonces


@in_virtual_time
async def test_a_silent_board_is_lost_with_a_sentence() -> None:
    connection, _port = connected(ScriptedBoard(is_silent=True))
    async with connection:
        with pytest.raises(LinkLost, match="nothing answers at /dev/fake-port"):
            await connection.greet()


@in_virtual_time
async def test_another_version_is_a_wrong_device() -> None:
    connection, _port = connected(ScriptedBoard(protocol=9))
    async with connection:
        with pytest.raises(WrongDevice, match=r"firmware 0\.1\.0"):
            await connection.greet()


@in_virtual_time
async def test_a_board_that_goes_right_after_its_greeting_is_lost() -> None:
    connection, port = connected(ScriptedBoard())
    async with connection:
        greeted = asyncio.create_task(connection.greet())
        await elapse(0.1)
        await greeted
        port.unplug()
        with pytest.raises(LinkLost, match="unplugged"):
            await connection.greet()


@in_virtual_time
async def test_many_callers_each_get_their_own_answer() -> None:
    board = ScriptedBoard()
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        results = await asyncio.gather(*(connection.call(PULSE_LED) for _ in range(30)))
    assert sorted(result[0] for result in results) == list(range(1, 31))


@in_virtual_time
async def test_one_caller_too_many_is_refused_and_an_urgent_one_is_not() -> None:
    connection, _port = connected(ScriptedBoard())
    async with connection:
        await connection.greet()
        calls = [asyncio.create_task(connection.call(PULSE_LED)) for _ in range(MAX_PENDING_CALLS)]
        await asyncio.sleep(0)
        with pytest.raises(CallRefused, match="too many"):
            await connection.call(PULSE_LED)
        await connection.call(Request(wire.METHOD_SAFE, b"", 500, urgent=True))
        await asyncio.gather(*calls)


@in_virtual_time
async def test_what_the_board_refuses_is_told_in_its_words_cleaned() -> None:
    board = ScriptedBoard()
    board.overrides = {PULSE: (4, b"the tank is\x1b[31m empty"), READ: (77, b"")}
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        with pytest.raises(CallRefused) as refused:
            await connection.call(PULSE_LED)
        assert (refused.value.code, refused.value.detail) == (
            "unsafe_state",
            "the tank is[31m empty",
        )
        with pytest.raises(CallRefused) as refused:
            await connection.call(READ_LED)
        assert refused.value.code == "code_77"


@in_virtual_time
async def test_an_answer_after_the_deadline_is_unknown_and_the_link_stays_usable() -> None:
    board = ScriptedBoard(answer_delay_s=2.5)
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        started_s = LoopClock().monotonic_s()
        with pytest.raises(OutcomeUnknown, match="in time"):
            await connection.call(PULSE_LED)
        assert LoopClock().monotonic_s() - started_s == pytest.approx(0.5 + ANSWER_MARGIN_S)
        await elapse(2)
        board.answer_delay_s = 0
        assert await connection.call(PULSE_LED) == b"\x02\0\0\0"
        assert connection.session.counters.answers_late == 1


@in_virtual_time
async def test_a_call_that_was_never_sent_is_lost_not_unknown() -> None:
    board = ScriptedBoard(ignores_requests=True, window_bytes=0)
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        first, second = await asyncio.gather(
            outcome(connection.call(PULSE_LED)), outcome(connection.call(PULSE_LED))
        )
    assert isinstance(first, OutcomeUnknown)
    assert isinstance(second, LinkLost)
    assert "too busy" in str(second)


@in_virtual_time
async def test_losing_the_port_fails_calls_by_whether_they_were_sent() -> None:
    board = ScriptedBoard(ignores_requests=True, window_bytes=0)
    connection, port = connected(board)
    async with connection:
        await connection.greet()
        calls = [asyncio.create_task(outcome(connection.call(PULSE_LED))) for _ in range(2)]
        await elapse(0.01)
        port.unplug()
        sent, waiting = await asyncio.gather(*calls)
        assert await connection.lost() == "/dev/fake-port was unplugged"
        with pytest.raises(LinkLost, match="unplugged"):
            await connection.call(PULSE_LED)
    assert isinstance(sent, OutcomeUnknown)
    assert "unplugged" in str(sent)
    assert isinstance(waiting, LinkLost)


@in_virtual_time
async def test_letting_go_of_the_connection_fails_what_is_pending() -> None:
    connection, _port = connected(ScriptedBoard(ignores_requests=True))
    async with connection:
        await connection.greet()
        call = asyncio.create_task(outcome(connection.call(PULSE_LED)))
        await elapse(0.01)
    assert isinstance(await call, OutcomeUnknown)


@in_virtual_time
async def test_a_cancelled_call_leaves_the_link_usable() -> None:
    board = ScriptedBoard(window_bytes=0)
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        sent = asyncio.create_task(connection.call(PULSE_LED))
        waiting = asyncio.create_task(connection.call(PULSE_LED))
        await asyncio.sleep(0)
        sent.cancel()
        waiting.cancel()
        await elapse(0.1)
        assert sent.cancelled()
        assert waiting.cancelled()
        # The one on its way was run, the other never left
        assert board.pulses == 1
        assert await connection.call(PULSE_LED) == b"\x02\0\0\0"


@in_virtual_time
async def test_a_call_cancelled_as_the_link_dies_leaves_nothing_behind() -> None:
    connection, port = connected(ScriptedBoard(ignores_requests=True))
    async with connection:
        await connection.greet()
        call = asyncio.create_task(connection.call(PULSE_LED))
        await elapse(0.01)
        port.unplug()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@in_virtual_time
async def test_an_answered_call_is_not_failed_when_the_link_dies_at_once() -> None:
    board = ScriptedBoard()
    connection, port = connected(board)
    async with connection:
        await connection.greet()
        board_end = port._to_agent
        port._to_agent = lambda data: (board_end(data), port.unplug())  # type: ignore[method-assign] # the answer, then nothing
        assert await connection.call(PULSE_LED) == b"\x01\0\0\0"


@in_virtual_time
async def test_a_port_that_takes_nothing_is_noticed() -> None:
    port = StalledPort(ScriptedBoard())
    connection = BoardConnection(port, LoopClock())
    async with connection:
        await connection.greet()
        port.is_stalled = True
        stalled_s = LoopClock().monotonic_s()
        assert await connection.lost() == "the board no longer answers"
        assert LoopClock().monotonic_s() - stalled_s <= 1.6


@in_virtual_time
async def test_request_ids_go_around_and_skip_those_in_use() -> None:
    board = ScriptedBoard()
    connection, _port = connected(board)
    async with connection:
        await connection.greet()
        board.answer_delay_s = 0.2
        slow = asyncio.create_task(connection.call(PULSE_LED))
        await elapse(0.01)
        board.answer_delay_s = 0
        connection._next_id = 65_535
        for _ in range(3):
            await connection.call(READ_LED)
        assert await slow == b"\x01\0\0\0"
    ids = [frame.payload[1:3] for frame in board.frames if frame.kind == wire.REQUEST]
    assert ids == [b"\0\0", b"\xff\xff", b"\1\0", b"\2\0"]
