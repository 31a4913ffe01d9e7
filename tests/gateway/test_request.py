import asyncio

import pytest

from agent.gateway.request import (
    BODY_TIMEOUT_S,
    LEAST_BYTES_PER_S,
    MAX_BODY_S,
    MAX_HELD_BYTES,
    CrowdedOut,
    RequestBodies,
    RequestBody,
)


async def test_each_piece_gives_a_body_more_time() -> None:
    bodies = RequestBodies()
    begun_s = asyncio.get_running_loop().time()
    with bodies.reading() as body:
        async with body.deadline:
            assert body.deadline.when() == pytest.approx(begun_s + BODY_TIMEOUT_S, abs=0.1)
            body.add(b"a" * LEAST_BYTES_PER_S)
            assert body.deadline.when() == pytest.approx(begun_s + BODY_TIMEOUT_S + 1, abs=0.1)
            body.add(b"a" * (MAX_HELD_BYTES - LEAST_BYTES_PER_S))
            assert body.deadline.when() == pytest.approx(begun_s + MAX_BODY_S, abs=0.1)
    assert bodies.held_bytes == 0


async def test_where_all_hold_too_much_the_oldest_large_one_goes() -> None:
    bodies = RequestBodies()
    with bodies.reading() as small, bodies.reading() as large, bodies.reading() as newest:
        large_read = asyncio.ensure_future(wait_for_more(large))
        await asyncio.sleep(0)
        async with small.deadline, newest.deadline:
            small.add(b"a" * 100)
            large.add(b"a" * (MAX_HELD_BYTES - 200))
            newest.add(b"a" * 200)
            assert (small.is_out, large.is_out, newest.is_out) == (False, True, False)
            assert bodies.held_bytes == 300
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(large_read, BODY_TIMEOUT_S / 2)


async def wait_for_more(body: RequestBody) -> None:
    async with body.deadline:
        await asyncio.Event().wait()


async def test_a_body_that_is_too_much_alone_goes_itself() -> None:
    bodies = RequestBodies()
    with bodies.reading() as body:
        async with body.deadline:
            with pytest.raises(CrowdedOut):
                body.add(b"a" * (MAX_HELD_BYTES + 1))
        assert body.is_out
