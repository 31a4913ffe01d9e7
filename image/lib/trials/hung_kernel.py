"""The kernel itself hangs: outputs go safe, the hardware's watchdog resets, everything is back."""

from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect
from image.lib.trials.safety import LEASE_MS, MARGIN_MS, safe_after_ms

# Both stages of the emulated watchdog, at 14 s each, and slack for a busy machine
_RESET_S = 120.0


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    device = bench.shell.run("systemctl show -P WatchdogDevice; cat /sys/class/watchdog/*/state")
    expect("inactive" not in device and "active" in device, f"no watchdog is armed: {device}")
    # Without a way out of its own: a crash that does not restart is a hang
    hang = "echo 0 >/proc/sys/kernel/panic; echo c >/proc/sysrq-trigger"
    off_ms = safe_after_ms(bench, lambda: bench.shell.send(hang))
    reset_s = bench.guest.wait_for_end(_RESET_S)
    expect(off_ms <= LEASE_MS + MARGIN_MS, f"the led was on for {off_ms:.0f} ms without the agent")
    took_s = bench.start()
    outside.ask("Hello there", "I only obey a few phrases.")
    return (
        f"led off {off_ms:.0f} ms after the last word, reset {reset_s:.0f} s after that, started "
        f"again in {took_s:.0f} s"
    )
