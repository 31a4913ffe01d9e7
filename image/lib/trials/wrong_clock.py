"""No clock and no network time: it says so and runs no job; with the right time it does, once."""

import time

from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect

_NOWHEN = "2000-01-01T00:00:00"
_JOB = "water-look"
_TOLD = "look after the water"
# Longer than a start takes
_DUE_MIN = 4
# Half a minute until the next look, and what an emulated machine needs
_LOOK_S = 90
_LOOK_EVERY_S = 5.0


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.chatting()
    outside.ask("/new", "A new conversation.")
    at = bench.shell.run(f"date -d '+{_DUE_MIN} min' +%FT%H:%M")
    add = f'use cron_add {{"name": "{_JOB}", "at": "{at}", "message": "{_TOLD}"}}'
    outside.ask(add, '"first"')
    # As if power was cut now: this time is what the next start begins with
    due_s = int(bench.shell.run(f"date -d '{at}' +%s"))
    bench.shell.run("touch /var/lib/systemd/timesync/clock; sync")
    said = _without_time(bench, due_s)
    since = len(outside.shown())
    bench.start()
    outside.wait_for(_TOLD, since, _LOOK_S)
    outside.ask("Hello there", "I only obey a few phrases.")
    ran = sum(_TOLD in one for one in outside.shown()[since:])
    expect(ran == 1, f"with the right time it ran {ran} times")
    bench.shell.run(f"barnacle jobs remove {_JOB}; sync")
    return f"{said}; with the right time it ran, once"


def _without_time(bench: Bench, due_s: int) -> str:
    outside, since = bench.outside, len(bench.outside.shown())
    took_s = bench.start(Conditions(clock=_NOWHEN))
    shell = bench.shell
    synchronized = shell.run("timedatectl show -P NTPSynchronized")
    expect(synchronized == "no", "somebody has told it the time")
    now_s = int(shell.run("date +%s"))
    expect(now_s < due_s, f"the job's time was over before the start was: {now_s - due_s} s")
    answered_s = outside.ask("Hello there", "I only obey a few phrases.")
    doctor = shell.run("barnacle doctor 2>&1 | grep -i clock | head -2")
    expect("no scheduled job runs" in doctor, f"the doctor says of the clock: {doctor}")
    while int(shell.run("date +%s")) < due_s + _LOOK_S:
        time.sleep(_LOOK_EVERY_S)
    ran = sum(_TOLD in one for one in outside.shown()[since:])
    expect(not ran, f"a job ran {ran} times by a clock that nobody has set")
    bench.stop()
    return f"started in {took_s:.0f} s, answered after {answered_s:.1f} s, no job ran; {doctor}"
