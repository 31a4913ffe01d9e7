"""A peer that sends or takes little by little, perhaps without end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import repeat
from typing import TypeVar

T = TypeVar("T")


async def paced(pieces: Iterable[T], every_s: float) -> AsyncIterator[T]:
    """Yield the pieces, with so much time after each."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(every_s)


async def drip(
    writer: asyncio.StreamWriter,
    piece: bytes,
    every_s: float,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Send the piece again and again; until the other side hangs up, or it is over."""
    async for one in paced(repeat(piece), every_s):
        if is_over():
            return
        writer.write(one)
        await writer.drain()
