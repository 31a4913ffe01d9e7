"""Started as a process of its own: a gateway that prints its port and serves until its input ends.

Arguments: a folder for its state.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.cli.loop import run_in_loop
from agent.gateway.metrics import MetricSample
from tests.fakes.gateway import listening

# About what a busy agent has to tell
_SAMPLES = 400


def main(arguments: Sequence[str]) -> int:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    run_in_loop(_serve(Path(arguments[0])))
    return 0


async def _serve(folder: Path) -> None:
    async with listening(folder, samples=_samples) as gateway:
        print(gateway.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def _samples() -> list[MetricSample]:
    return [MetricSample("messages", "Messages.", n, {"channel": f"c{n}"}) for n in range(_SAMPLES)]
