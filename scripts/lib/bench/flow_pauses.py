"""Started as the agent: the same, with a thread that sees when its event loop stands still.

What a loop does at once nothing interrupts: no lease is renewed meanwhile. Time is the processor's,
since others on the machine make everything late; a Pi Zero needs some eight times as much.
"""

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Coroutine, Sequence
from importlib import import_module
from typing import Any

_BEAT_S = 0.005
_LOOK_S = 0.002
# Shorter ones are usual and harmless
_TOLD_S = 0.01
_PLACES = 4


class Pauses:
    """Pauses of the main thread's loop, a line each: milliseconds, and where it was."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._main = threading.main_thread().ident or 0
        self._clock = time.pthread_getcpuclockid(self._main)
        self._beats = 0
        self._cpu_s = 0.0

    async def beat(self) -> None:
        """Show that the loop goes on; until cancelled."""
        while True:
            self._beats += 1
            self._cpu_s = time.clock_gettime(self._clock)
            await asyncio.sleep(_BEAT_S)

    def watch(self) -> None:
        """Write each pause down; in a thread of its own, for ever."""
        with open(self._path, "a", encoding="utf-8", buffering=1) as file:  # noqa: PTH123 - kept open
            while True:
                time.sleep(_LOOK_S)
                if self._beats and self._spent_s() > _TOLD_S:
                    place, beats, spent_s = self._place(), self._beats, self._spent_s()
                    while beats == self._beats:
                        spent_s = self._spent_s()
                        time.sleep(_LOOK_S)
                    file.write(f"{json.dumps([round(spent_s * 1e3, 1), place])}\n")

    def _spent_s(self) -> float:
        return time.clock_gettime(self._clock) - self._cpu_s

    def _place(self) -> str:
        frames = sys._current_frames()  # noqa: SLF001 - documented, and the one way to see it
        stack = traceback.extract_stack(frames.get(self._main))
        ours = [one for one in stack if "/agent/" in one.filename]
        told = [f"{one.filename.partition('/agent/')[2]}:{one.lineno}" for one in ours[-_PLACES:]]
        return " > ".join(told)


def main(arguments: Sequence[str]) -> int:
    """Run `barnacle` with these arguments; pauses go to the file that is named."""
    pauses = Pauses(os.environ["BARNACLE_STAGES"])
    run = asyncio.Runner.run

    def watched(runner: asyncio.Runner, work: Coroutine[Any, Any, Any]) -> Any:
        async def both() -> Any:
            beating = asyncio.create_task(pauses.beat())
            try:
                return await work
            finally:
                beating.cancel()

        return run(runner, both())

    asyncio.Runner.run = watched  # type: ignore[method-assign,assignment]  # the one way into it
    threading.Thread(target=pauses.watch, daemon=True).start()
    return int(import_module("agent.cli.main").main(list(arguments)) or 0)
