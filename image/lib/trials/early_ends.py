"""Three starts end early: the next one leaves the data partition alone, and says so in the chat.

Once power is cut in them; once a folder of the partition has become a file, on which no system
starts, and nobody cuts anything.
"""

import hashlib
import random
import time
from pathlib import Path

from image.lib.emulated.bench import START_S, Bench
from image.lib.trials.expectation import expect
from scripts.lib.progress import say

_MANY = 3
# The initial RAM disk counts within this, emulated
_COUNT_S = 120.0
# After the count: while the partition is checked, mounted, and used by the first units
_LONGEST_S = 15.0
# Three starts that fail, and the one that answers; on a busy machine
_PATIENCE_S = 1800.0
_ANSWER_S = 400.0
_LOOK_S = 0.2
_SAID = "I started without the data partition"
_HELLO, _ANSWER = "Hello there", "I only obey a few phrases."
_PIECE_BYTES = 1024 * 1024


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.chatting()
    outside.ask("remember that my fish is called Otto", "I will remember that.")
    cut_s = _after_cuts(bench)
    failed_s = _after_failures(bench)
    return (
        f"after {_MANY} starts that power ended, all told {cut_s:.0f} s after power and the "
        f"partition as it was, to the byte; after {_MANY} that could not come up by themselves, "
        f"told {failed_s:.0f} s after the first; with the next start all was there again"
    )


def _after_cuts(bench: Bench) -> float:
    chance = random.Random(bench.seed)  # noqa: S311 - the same moments each time
    bench.stop()
    for number in range(1, _MANY + 1):
        bench.power_on()
        bench.until(
            lambda number=number: bench.card.early_ends() >= number, "not counted", _COUNT_S
        )
        time.sleep(chance.uniform(0, _LONGEST_S))
        bench.stop()
        say(f"start {number} of {_MANY} was cut")
    before, since = _digest(bench), len(bench.outside.shown())
    bench.power_on()
    bench.outside.wait_for(_SAID, since, _ANSWER_S)
    told_s = bench.guest.age_s
    _expect_aside(bench)
    bench.stop()
    expect(_digest(bench) == before, "the data partition was written to")
    _expect_all_well(bench)
    return told_s


def _after_failures(bench: Bench) -> float:
    folder = "/data/connections"
    bench.shell.run(f"mv {folder} {folder}.kept && touch {folder} && sync")
    bench.stop()
    told_s = until_told(bench)
    _expect_aside(bench)
    # What a person with a screwdriver does, who has read the log
    bench.shell.run(
        "mount -t ext4 /dev/disk/by-label/data /mnt && rm /mnt/connections"
        " && mv /mnt/connections.kept /mnt/connections; sync; umount /mnt"
    )
    _expect_all_well(bench)
    return told_s


def until_told(bench: Bench) -> float:
    """Nobody is there: the machine ends each start by itself, and begins the next."""
    since, restarts, begun_s = len(bench.outside.shown()), bench.restarts, time.monotonic()
    bench.power_on()
    bench.outside.until(
        lambda: not bench.go_on() and any(_SAID in one for one in bench.outside.shown()[since:]),
        lambda: f"nothing was said in {bench.restarts - restarts + 1} starts",
        _PATIENCE_S,
    )
    return time.monotonic() - begun_s


def _expect_aside(bench: Bench) -> None:
    """It answers, and keeps its hands still."""
    bench.outside.ask(_HELLO, _ANSWER, _ANSWER_S)
    bench.guest.wait_for_shell(START_S)
    bench.settled()
    kind = bench.shell.run("findmnt --noheadings --output FSTYPE /data")
    expect(kind == "tmpfs", f"/data is {kind}")
    used = bench.shell.run("grep ba12ac1e-04 /proc/mounts; findmnt --source /dev/vda4")
    expect(not used, f"the data partition is in use: {used}")


def _expect_all_well(bench: Bench) -> None:
    bench.start()
    aside = bench.shell.run("cat /run/barnacle-aside 2>/dev/null")
    expect(not aside, f"it is left alone once more: {aside}")
    bench.outside.ask("what is my fish called?", "Otto", _ANSWER_S)
    bench.until(lambda: bench.card.early_ends() == 0, "the start still counts", _COUNT_S)


def _digest(bench: Bench) -> str:
    copy = bench.card.data(Path(f"{bench.card.path}.data"))
    try:
        with copy.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        copy.unlink()
