"""The data partition turns read-only: it answers, says why it acts on nothing, and does not."""

from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    before, first = len(bench.board.changes("led")), len(outside.shown())
    # What the kernel does with a card that fails: it is all the same whose file is open
    bench.shell.run("echo u >/proc/sysrq-trigger; sleep 5")
    answered_s = outside.ask("Hello there", "I only obey a few phrases.")
    bench.until_status("read-only")
    since = len(outside.shown())
    outside.write("turn on the led")
    outside.until(lambda: len(outside.shown()) > since, "no answer", 120.0)
    expect(len(bench.board.changes("led")) == before, "the led was switched without a record")
    said = " / ".join(outside.shown()[since:])
    told = " / ".join(outside.shown()[first:])
    expect("read-only" in told.lower(), f"it does not say why: {told}")
    bench.stop()
    bench.with_board()
    outside.ask("turn on the led", "The led is on now.")
    outside.ask("turn off the led", "The led is off now.")
    return f"answered after {answered_s:.1f} s, led refused ({said}), all well after a start"
