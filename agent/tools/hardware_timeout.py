"""Time limit for the tools of this machine's own pins and buses."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from agent.errors import PinRefused

R = TypeVar("R")

# A pin answers at once and a bus within 0.1 s; a device that holds the bus does not
DEVICE_TIMEOUT_S = 5.0


async def in_time(act: Callable[[], R]) -> R:
    """Return the result of a blocking hardware call.

    Raises:
        PinRefused: it was refused, or took too long.
    """
    try:
        async with asyncio.timeout(DEVICE_TIMEOUT_S):
            return await asyncio.to_thread(act)
    except TimeoutError as err:
        raise PinRefused(f"the hardware did not answer within {DEVICE_TIMEOUT_S:g} s") from err
