"""The power button is pressed while an output is on: it goes off, and the system stops cleanly."""

from image.lib.emulated import qmp
from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect

# Every unit has its time to end, the agent 25 s of them; emulated, beside other work
_STOP_S = 300.0
_STOPPED = "reboot: Power down"


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    outside.ask("turn on the led", "The led is on now.")
    expect(bench.board.value("led") == 1, "the led is off")
    # What was complained of before is another trial's
    pressed_at = bench.shell.run("journalctl -n 0 --show-cursor -q").removeprefix("-- cursor: ")
    # QEMU presses the key of the device tree's gpio-keys, as a Pi 5's button is one
    qmp.order(bench.work / "control", "system_powerdown")
    took_s = bench.guest.wait_for_end(_STOP_S)
    expect(bench.guest.has_said(_STOPPED), f"no clean stop: {bench.guest.last_words()}")
    expect(bench.board.value("led") == 0, "the led stayed on")
    bench.stop()
    bench.start()
    said = bench.shell.run("journalctl -b -1 -o cat | grep -i 'power key' | tail -1")
    failed = bench.shell.run(
        f"journalctl -b -1 -o cat -p err -u barnacle --after-cursor='{pressed_at}' | tail -1"
    )
    expect(not failed, f"the agent complained: {failed}")
    outside.ask("Hello there", "I only obey a few phrases.")
    return f"led off, stopped after {took_s:.0f} s ({said or 'no word of logind'}), started again"
