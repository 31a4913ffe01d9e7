"""On-time of an output after the agent's last frame, on the board's own side.

The board runs beside the emulated machine, not in it: its clock is this machine's.
"""

import time
from collections.abc import Callable

from image.lib.emulated.bench import Bench
from image.lib.emulated.faults import GuestFailed
from image.lib.trials.expectation import Missed

# As the agent and the board have it. The board's dead man's handle is quicker: it ends what the Pi
# holds after 500 ms without a word, whatever is left of the lease
LEASE_MS = 2000
MARGIN_MS = 50
_LONGEST_S = 30.0
_ANSWER_S = 120.0
_LOOK_S = 0.005
# An emulated agent is silent for 500 ms now and then: then it is off before the blow
_TRIES = 5


def safe_after_ms(bench: Bench, blow: Callable[[], object]) -> float:
    """Have the led switched on, strike while it is, and wait until it is off.

    Returns how long after the last byte for the board that was.
    """
    for _ in range(_TRIES):
        since = len(bench.board.changes("led"))
        bench.outside.write("turn on the led")
        _until(lambda start=since: len(bench.board.changes("led")) > start, _ANSWER_S)
        blow()
        _until(lambda: bench.board.value("led") == 0, _LONGEST_S)
        passed_ms = bench.board.changes("led")[-1][1] - bench.port.heard_ms
        if passed_ms >= 0:
            return passed_ms
    raise Missed("the led was off before anything was done to the agent")


def _until(look: Callable[[], bool], most_s: float) -> None:
    deadline_s = time.monotonic() + most_s
    while not look():
        if time.monotonic() > deadline_s:
            raise GuestFailed(f"the led did not change within {most_s:.0f} s")
        time.sleep(_LOOK_S)
