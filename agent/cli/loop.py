"""The event loop that a command runs in: uvloop where there is one, asyncio otherwise."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

R = TypeVar("R")


def run_in_loop(work: Coroutine[object, object, R]) -> R:
    """Run `work` and return its result; Ctrl-C cancels it and is raised after the clean-up."""
    try:
        import uvloop  # noqa: PLC0415  # has no wheel everywhere
    except ImportError:
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)
