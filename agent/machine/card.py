"""Wear of the card, and errors of its file systems.

Only eMMC tells its wear; of an SD card nothing is known but the errors that it makes.
"""

from dataclasses import dataclass

from agent.machine.kernel import Kernel

# What JEDEC's field says in tenths of the expected life; 11 is more than all of it
_LIFE_STEP_PERCENT = 10
_LIFE_STEPS = range(1, 12)
# Its field for the blocks that are kept back: 1 is normal
_RESERVE_WORDS = {2: "80 % of the spare blocks are used", 3: "the spare blocks are used up"}


@dataclass(frozen=True, slots=True)
class Card:
    """State of the machine's storage.

    Args:
        used_percent: of its expected life, at most; None where it does not tell.
        reserve: what is wrong with its spare blocks; mostly nothing.
        errors: met by the file systems since they were last checked, by device.
    """

    used_percent: int | None = None
    reserve: str = ""
    errors: tuple[tuple[str, int], ...] = ()

    @property
    def error_count(self) -> int:
        return sum(count for _, count in self.errors)


def card(kernel: Kernel) -> Card:
    devices = [f"{folder}/device" for folder in kernel.matches("sys/block/mmcblk*")]
    lives = [life for device in devices for life in _lives(kernel.text(f"{device}/life_time"))]
    reserves = (kernel.number(f"{device}/pre_eol_info") for device in devices)
    return Card(
        max(lives, default=None),
        next((_RESERVE_WORDS[one] for one in reserves if one in _RESERVE_WORDS), ""),
        tuple(_errors(kernel)),
    )


def _lives(text: str) -> list[int]:
    """Return the wear of both memory types, such as `0x01 0x02`."""
    found: list[int] = []
    for word in text.split():
        try:
            step = int(word, 16)
        except ValueError:
            continue
        if step in _LIFE_STEPS:
            found.append(step * _LIFE_STEP_PERCENT)
    return found


def _errors(kernel: Kernel) -> list[tuple[str, int]]:
    counts = (
        (path.split("/")[-2], kernel.number(path))
        for path in kernel.matches("sys/fs/ext4/*/errors_count")
    )
    return [(device, count) for device, count in counts if count]
