"""How long an output stays on after the agent's last word, on the board's own side.

The board runs beside the emulated machine, not in it: its clock is this machine's.
"""

import time

from image.lib.emulated.bench import Bench
from image.lib.emulated.faults import GuestFailed

# The agent's own lease, which a board may shorten
LEASE_MS = 2000
MARGIN_MS = 50
_LONGEST_S = 30.0


def safe_after_ms(bench: Bench, pin: str, most_s: float = _LONGEST_S) -> float:
    """Wait until it is off; how long after the last byte for the board that was."""
    deadline_s = time.monotonic() + most_s
    while time.monotonic() < deadline_s:
        level, changed_ms = bench.board.changes(pin)[-1]
        if level == 0:
            return changed_ms - bench.port.heard_ms
        time.sleep(0.02)
    raise GuestFailed(f"{pin} is on still after {most_s:.0f} s")
