"""No clock and no network time: it starts in a year long ago, answers, says so, and runs no job."""

import time

from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect

_NOWHEN = "2000-01-01T00:00:00"
_JOB = "water-look"
_TOLD = "look after the water"
# A minute, half of one until the next look, and what an emulated machine needs
_JOB_RUNS_S = 150.0
_ADD = f'use cron_add {{"name": "{_JOB}", "every_minutes": 1, "message": "{_TOLD}"}}'


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.chatting()
    outside.ask("/new", "A new conversation.")
    outside.ask(_ADD, "It says")
    # With the right time it runs, or its silence later would say nothing
    outside.wait_for(_TOLD, len(outside.shown()), _JOB_RUNS_S)
    try:
        return _without_time(bench)
    finally:
        bench.running().run(f"barnacle jobs remove {_JOB}; sync")
        bench.stop()


def _without_time(bench: Bench) -> str:
    outside = bench.outside
    # The time that is kept on the card would help; a new card has none
    bench.shell.run("rm -f /var/lib/systemd/timesync/clock; sync")
    took_s = bench.start(Conditions(clock=_NOWHEN))
    since = len(outside.shown())
    shell = bench.shell
    now = shell.run("date +%F")
    synchronized = shell.run("timedatectl show -P NTPSynchronized")
    expect(synchronized == "no", "somebody has told it the time")
    answered_s = outside.ask("Hello there", "I only obey a few phrases.")
    doctor = shell.run("barnacle doctor 2>&1 | grep -i clock | head -2")
    expect(doctor, "the doctor says nothing of the clock")
    time.sleep(_JOB_RUNS_S)
    ran = sum(_TOLD in one for one in outside.shown()[since:])
    expect(not ran, f"a job ran {ran} times on {now}")
    return (
        f"started in {took_s:.0f} s on {now}, answered after {answered_s:.1f} s, no job ran in "
        f"{_JOB_RUNS_S:.0f} s; {doctor}"
    )
