"""Connection to a name by the first of its addresses that answers.

asyncio's own loop does it by itself (`happy_eyeballs_delay`); uvloop, which the agent runs on, asks
one address after the other, and each that leads nowhere takes the whole limit.
"""

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

# When the next address of a name is tried besides: what a healthy network needs, as RFC 8305 has it
_NEXT_ADDRESS_S = 0.25


async def reach(host: str, port: int) -> socket.socket:
    """Return a socket that is connected to the first address that answers.

    Raises:
        OSError: none does.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failed: list[BaseException] = []
    attempts: set[asyncio.Task[socket.socket]] = set()
    left = deque(_in_turns([(one[0], one[4]) for one in found]))
    try:
        while left or attempts:
            if left:
                attempts.add(asyncio.create_task(_connected(*left.popleft())))
            limit_s = _NEXT_ADDRESS_S if left else None
            done, _ = await asyncio.wait(
                attempts, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                if (error := attempt.exception()) is None:
                    attempts.discard(attempt)
                    return attempt.result()
                failed.append(error)
            attempts -= done
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_closed)
            attempt.cancel()
    raise failed[0] if failed else OSError("no address")


def _in_turns(found: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return the addresses, those of both families in turns: one of them may lead nowhere."""
    first = [one for one in found if one[0] == found[0][0]]
    other = [one for one in found if one[0] != found[0][0]]
    turns = zip_longest(first, other)
    return [one for pair in turns for one in pair if one is not None]


async def _connected(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


def _closed(attempt: "asyncio.Task[socket.socket]") -> None:
    """Close what came too late."""
    with contextlib.suppress(asyncio.CancelledError, OSError):
        attempt.result().close()
