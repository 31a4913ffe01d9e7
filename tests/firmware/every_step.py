"""Stops code between any two of its steps, as an interrupt or another thread would."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def stopped_before(
    step: int, folder: str, run: Callable[[], object], then: Callable[[], object]
) -> bool:
    """Run it, and something else just before that bytecode of the modules in `folder`.

    Returns:
        Whether there were so many steps.
    """
    taken = 0
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal taken
        if not frame.f_code.co_filename.startswith(folder):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            taken += 1
            if taken == step:
                then()  # nothing in here is traced
                sys.settrace(None)  # nor what follows: it takes most of the time
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return taken >= step
