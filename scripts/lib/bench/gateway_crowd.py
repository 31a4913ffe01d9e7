"""Started as a process of its own: slow callers of a gateway, for some seconds.

Arguments: the port, how many, how long in seconds, how they are slow, their addresses. Prints how
many connections they had.
"""

import asyncio
import os
import time
from collections.abc import Sequence

from tests.fakes.slow_callers import SlowCrowd, Slowness


def main(arguments: Sequence[str]) -> int:
    port, count, held_s, kinds, sources = arguments
    # They stand for other machines: the gateway comes first on this one
    os.nice(10)
    told = tuple(Slowness[kind] for kind in kinds.split(","))
    crowd = SlowCrowd(
        int(port), int(count), float(held_s), int(time.time()), tuple(sources.split(",")), told
    )
    asyncio.run(_hold(crowd))
    return 0


async def _hold(crowd: SlowCrowd) -> None:
    holding = asyncio.ensure_future(crowd.run())
    # The first line says that all of them have come
    while crowd.connections < crowd.count and not holding.done():  # noqa: ASYNC110 - it counts
        await asyncio.sleep(0.05)
    print(crowd.connections, flush=True)
    await holding
    print(crowd.connections, flush=True)
