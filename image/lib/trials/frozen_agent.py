"""The agent stands still (SIGSTOP): outputs go safe, its watchdog starts it anew, it answers."""

import time

from image.lib.emulated.bench import READY, Bench
from image.lib.trials.expectation import expect
from image.lib.trials.safety import LEASE_MS, MARGIN_MS, safe_after_ms

# The watchdog's 30 s, the abort, and an emulated start
_RESTART_S = 180.0
# What systemd says; the agent itself speaks of its watchdog as well
_TIMEOUT = "Watchdog timeout"
_MAIN = "systemctl show -P MainPID barnacle.service"


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    shell = bench.shell
    before = shell.run(_MAIN)
    off_ms = safe_after_ms(bench, lambda: shell.send(f"kill -STOP {before}"))
    begun_s = time.monotonic()
    expect(off_ms <= LEASE_MS + MARGIN_MS, f"the led was on for {off_ms:.0f} ms without the agent")
    since = len(outside.shown())
    outside.write("Hello there")
    bench.until(lambda: _is_other(shell.run(_MAIN), before), "not started anew", _RESTART_S)
    restarted_s = time.monotonic() - begun_s
    outside.wait_for("I only obey a few phrases.", since)
    answered_s = time.monotonic() - begun_s
    why = shell.run(f"journalctl -b -o cat -u barnacle | grep '{_TIMEOUT}' | tail -1")
    expect(_TIMEOUT in why, "it was not the watchdog")
    bench.until_status(READY)
    expect(bench.board.value("led") == 0, "the led went on by itself")
    return (
        f"led off {off_ms:.0f} ms after the last word (lease {LEASE_MS} ms), restarted by its "
        f"watchdog after {restarted_s:.0f} s, answered after {answered_s:.0f} s"
    )


def _is_other(now: str, before: str) -> bool:
    return now not in {"0", before}
