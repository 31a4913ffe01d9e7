"""A peer that sends little by little, and so without end."""

import asyncio
from collections.abc import Callable


async def drip(
    writer: asyncio.StreamWriter,
    piece: bytes,
    every_s: float,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Send the piece again and again; until the other side hangs up, or it is over."""
    while not is_over():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(every_s)
