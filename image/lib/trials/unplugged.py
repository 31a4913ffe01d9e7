"""The board's cable is pulled while something is on: it goes off by itself, and comes back."""

import time

from image.lib.emulated.bench import READY, Bench
from image.lib.trials.expectation import expect
from image.lib.trials.safety import LEASE_MS, MARGIN_MS, safe_after_ms

_TIMES = 3


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    back_s, off_ms = [], []
    for _ in range(_TIMES):
        off_ms.append(safe_after_ms(bench, bench.cable.unplug))
        outside.ask("turn on the led", "not connected")
        gone = bench.shell.run("ls /dev/barnacle-board /dev/ttyACM0 2>/dev/null")
        expect(not gone, f"the guest still has {gone}")
        # It is told every few seconds
        bench.until(lambda: READY not in bench.status(), "the status is of before", 60.0)
        begun_s = time.monotonic()
        bench.plug()
        bench.until_status(READY)
        back_s.append(time.monotonic() - begun_s)
        real = bench.shell.run("readlink /dev/barnacle-board; ls -la /dev/ttyACM0")
        leads_to, _, listed = real.partition("\n")
        expect(leads_to == "ttyACM0" and "dialout" in listed, f"not the stable name: {real}")
    expect(max(off_ms) <= LEASE_MS + MARGIN_MS, f"on for {max(off_ms):.0f} ms without the agent")
    return (
        f"{_TIMES} times: off {max(off_ms):.0f} ms after the last word at most, ready again "
        f"{max(back_s):.0f} s after it was plugged in at most"
    )
