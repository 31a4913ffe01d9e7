"""Short connection of a command to a board."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard

# Opening, greeting and a manifest over a slow line take 2 s; a board that restarts, a little more
READY_TIMEOUT_S = 5.0
# A board that is being reset is away for less than this
_ABSENT_TIMEOUT_S = 1.0
# A person sees no delay, and it costs nothing
_LOOK_EVERY_S = 0.05

OnStatus = Callable[[BoardStatus], None]


@contextlib.asynccontextmanager
async def visit(
    board: SerialBoard, on_status: OnStatus = lambda _: None
) -> AsyncIterator[SerialBoard]:
    """Connect to the board, ready or with the reason in its status; outputs go safe at the end."""
    running = asyncio.create_task(board.run())
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_TIMEOUT_S):
                await _settled(board, on_status)
        yield board
        await board.release()
    finally:
        running.cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            # A bug of the link: it has to be heard of
            running.result()


async def _settled(board: SerialBoard, on_status: OnStatus) -> None:
    shown = board.status
    absent_s = 0.0
    while board.status.state not in {BoardState.READY, BoardState.REFUSED}:
        if board.status != shown:
            shown = board.status
            on_status(shown)
        absent_s = absent_s + _LOOK_EVERY_S if shown.state is BoardState.ABSENT else 0.0
        if absent_s > _ABSENT_TIMEOUT_S:
            return
        await asyncio.sleep(_LOOK_EVERY_S)
