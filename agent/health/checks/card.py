"""Is the card worn, or does it make errors?"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.readings import Readings

_WORN_PERCENT = 80
_OVER_PERCENT = 100
_REPLACE = "save what matters and replace the card"
_KERNEL_LOG = "dev/kmsg"
# More than a kernel keeps; a file that has no end is left there
_MAX_RECORDS = 20_000
_RECORD_BYTES = 8192
_TROUBLE = re.compile(
    r"I/O error, dev (?:mmcblk|sd)|EXT4-fs error|mmc\d+: .*(?:error|timed out|Timeout waiting)|"
    r"mmcblk\d+: .*error",
    re.IGNORECASE,
)


async def check(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient.readings))


def _finding(readings: Readings) -> Finding:
    card = readings.card()
    if card.errors:
        told = ", ".join(f"{count} on {device}" for device, count in card.errors)
        return Finding.failed(
            f"the file system met errors ({told}): {_REPLACE}; a check at the next start (fsck) "
            "forgets them"
        )
    messages = list(_complaints(readings.kernel.root / _KERNEL_LOG))
    if messages:
        return Finding.failed(
            f"the kernel complains of the card ({len(messages)} times, last: {messages[-1]}): "
            f"{_REPLACE}"
        )
    used = card.used_percent
    if card.reserve or (used is not None and used > _OVER_PERCENT):
        return Finding.failed(
            f"the card is at its end ({card.reserve or 'by its age'}): {_REPLACE}"
        )
    if used is not None and used >= _WORN_PERCENT:
        return Finding.warning(f"the card has used up to {used} % of its life: replace it soon")
    wear = "it does not tell its wear" if used is None else f"at most {used} % of its life are used"
    return Finding.ok(f"no errors; {wear}")


def _complaints(path: Path) -> Iterator[str]:
    """Yield the kernel's complaints about cards since the start, if we may read them."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for _ in range(_MAX_RECORDS):
            try:
                # One record each time, and none twice
                record = os.read(handle, _RECORD_BYTES)
            except BrokenPipeError:
                # Some were overwritten before they were read
                continue
            except OSError:
                return
            if not record:
                return
            for line in record.decode(errors="replace").splitlines():
                if _TROUBLE.search(line):
                    yield line.partition(";")[2] or line
    finally:
        os.close(handle)
