"""What is written to the card when nobody asks for anything, measured over minutes and scaled."""

import time

from image.lib.emulated.bench import Bench
from image.lib.emulated.shell import Shell
from image.lib.trials.expectation import expect

MINUTES = 4
_SECTOR_BYTES = 512
# A card lasts for decades of this
_MOST_MB_A_DAY = 50.0


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how many minutes are waited for; 0 is a few."""
    bench.chatting()
    shell = bench.shell
    minutes = amount or MINUTES
    shell.run("sync")
    before, begun_s = _written_bytes(shell), time.monotonic()
    # The guest's clock runs with this one, whatever the emulation takes
    time.sleep(minutes * 60)
    shell.run("sync")
    passed_s = time.monotonic() - begun_s
    written = _written_bytes(shell) - before
    a_day_mb = written * 86_400 / passed_s / 1e6
    expect(a_day_mb <= _MOST_MB_A_DAY, f"{a_day_mb:.1f} MB a day at this pace")
    return (
        f"{written / 1024:.0f} KiB in {passed_s / 60:.1f} min, which is "
        f"{written * 3600 / passed_s / 1024:.0f} KiB an hour and {a_day_mb:.1f} MB a day (scaled)"
    )


def _written_bytes(shell: Shell) -> int:
    words = shell.run("cat /sys/block/vda/stat").split()
    return int(words[6]) * _SECTOR_BYTES
