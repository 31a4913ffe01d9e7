"""No clock and no network time: it starts in the year 2000, answers, says so, and runs no job."""

from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect

_NOWHEN = "2000-01-01T00:00:00"


def run(bench: Bench, amount: int) -> str:
    del amount
    bench.chatting()
    # The time that is kept on the card would help; a new card has none
    bench.shell.run("rm -f /var/lib/systemd/timesync/clock; sync")
    ran = bench.outside.asked
    took_s = bench.start(Conditions(clock=_NOWHEN))
    shell = bench.shell
    now = shell.run("date +%F")
    synchronized = shell.run("timedatectl show -P NTPSynchronized")
    expect(synchronized == "no", "somebody has told it the time")
    answered_s = bench.outside.ask("Hello there", "I only obey a few phrases.")
    expect(bench.outside.asked == ran + 1, "the model was asked by something else")
    doctor = shell.run("barnacle doctor 2>&1 | grep -i clock | head -2")
    expect(doctor, "the doctor says nothing of the clock")
    bench.stop()
    return f"started in {took_s:.0f} s on {now}, answered after {answered_s:.1f} s; {doctor}"
