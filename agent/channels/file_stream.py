"""Stream of a file between a platform and the disk, piece by piece: no file is held in memory."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from agent.errors import ChannelUnavailable, NetworkError
from agent.net.http import HttpAnswer

_PIECE_BYTES = 64 * 1024


def _silent() -> None:
    """Tell nobody."""


async def downloaded(
    answer: HttpAnswer, beat: Callable[[], None] = _silent
) -> AsyncGenerator[bytes, None]:
    """Yield the body of an answer.

    Args:
        beat: says with each piece that the platform was heard.

    Raises:
        ChannelUnavailable: it was cut off, or came too slowly.
    """
    try:
        while piece := await answer.read():
            beat()
            yield piece
    except NetworkError as err:
        raise ChannelUnavailable(str(err)) from err


async def uploaded(path: Path, size_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield exactly the announced length of a file, even if it grows meanwhile.

    Raises:
        OSError: it cannot be read, or became shorter.
    """
    left = size_bytes
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while left:
            piece = await asyncio.to_thread(file.read, min(_PIECE_BYTES, left))
            if not piece:
                raise OSError("the file became shorter while it was sent")
            left -= len(piece)
            yield piece
    finally:
        file.close()
