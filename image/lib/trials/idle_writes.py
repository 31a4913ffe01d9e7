"""Writes to the card while the agent is idle, measured over minutes and scaled."""

import time

from image.lib.emulated.bench import Bench
from image.lib.emulated.shell import Shell
from image.lib.trials.expectation import expect

MINUTES = 6
_SECTOR_BYTES = 512
# A card lasts for decades of this
_MOST_MB_A_DAY = 50.0
# A partition that has just grown is still being made, and what was talked of last put in order
_SETTLED_S = 900.0
_LOOK_EVERY_S = 10.0
_QUIET_S = 60.0
_WRITERS_SHOWN = 4
# A commit of readings every ten minutes, and what a slow machine needs beside it
_RECORDED_S = 900.0


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how many minutes are waited for; 0 is a few."""
    bench.chatting()
    shell = bench.shell
    _settled(shell)
    minutes = amount or MINUTES
    shell.run("sync")
    before, writers, begun_s = _written_bytes(shell), _writers(shell), time.monotonic()
    # The guest's clock runs with this one, whatever the emulation takes
    time.sleep(minutes * 60)
    shell.run("sync")
    passed_s = time.monotonic() - begun_s
    written = _written_bytes(shell) - before
    a_day_mb = written * 86_400 / passed_s / 1e6
    by = _most(writers, _writers(shell))
    expect(a_day_mb <= _MOST_MB_A_DAY, f"{a_day_mb:.1f} MB a day at this pace, by {by}")
    return (
        f"{written / 1024:.0f} KiB in {passed_s / 60:.1f} min, which is "
        f"{written * 3600 / passed_s / 1024:.0f} KiB an hour and {a_day_mb:.1f} MB a day (scaled), "
        f"by {by}; {_recorded(shell)} batches of readings beside the file system"
    )


def _recorded(shell: Shell) -> int:
    """Return how many batches are on the device that readings have for themselves."""
    until_s = time.monotonic() + _RECORDED_S
    while not (count := int(shell.run("grep -ao BRG1 /dev/barnacle-ring | wc -l"))):
        expect(time.monotonic() < until_s, "no readings on /dev/barnacle-ring")
        time.sleep(_LOOK_EVERY_S)
    return count


def _settled(shell: Shell) -> None:
    """Wait until the file system has grown, and a minute more."""
    until_s = time.monotonic() + _SETTLED_S
    while "ext4lazyinit" in shell.run("cat /proc/[0-9]*/comm"):
        expect(time.monotonic() < until_s, "the data partition is still being made")
        time.sleep(_LOOK_EVERY_S)
    time.sleep(_QUIET_S)


def _written_bytes(shell: Shell) -> int:
    words = shell.run("cat /sys/block/vda/stat").split()
    return int(words[6]) * _SECTOR_BYTES


def _writers(shell: Shell) -> dict[str, int]:
    """Return the bytes written by each program."""
    names = _by_process(shell.run("grep -s . /proc/[0-9]*/comm"))
    told = _by_process(shell.run("grep -s '^write_bytes' /proc/[0-9]*/io"))
    written: dict[str, int] = {}
    for process, words in told.items():
        name = names.get(process, process)
        written[name] = written.get(name, 0) + int(words.rpartition(" ")[2])
    return written


def _by_process(text: str) -> dict[str, str]:
    lines = (line.strip().split(":", 1) for line in text.splitlines() if ":" in line)
    return {path.split("/")[2]: words for path, words in lines if path.startswith("/proc/")}


def _most(before: dict[str, int], after: dict[str, int]) -> str:
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    ranked = sorted(grown.items(), key=lambda one: -one[1])[:_WRITERS_SHOWN]
    return ", ".join(f"{name} {count // 1024} KiB" for name, count in ranked if count > 0)
