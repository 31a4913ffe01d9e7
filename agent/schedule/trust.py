"""Trust in the wall clock: a Pi without a network starts at a time of long ago that looks real.

systemd sets a clock that is behind to when the machine was last on, or when systemd was made. So a
time alone says nothing where the network is to set the clock: until it has, only a clock with a
battery that shows the same is believed.
"""

from pathlib import Path

from agent.system.clock import RELEASED_S

# Folder of systemd-timesyncd while it runs
_NETWORK_TIME = "run/systemd/timesync"
# File in it that says that the network has set the clock
_SYNCHRONIZED = f"{_NETWORK_TIME}/synchronized"
SYNCHRONIZED = Path("/", _SYNCHRONIZED)
# What the kernel shows of clocks that run while the machine is off
_BATTERY_CLOCKS = "sys/class/rtc/rtc*/since_epoch"
# One that keeps local time is half a day away at most; one without a battery is years away
_MOST_APART_S = 86_400.0


def is_trusted(wall_s: float, root: Path = Path("/")) -> bool:
    """Return true if the network has set the clock, or nothing speaks against it.

    Args:
        root: of the file system that tells what the machine's clock goes by.
    """
    if (root / _SYNCHRONIZED).exists():
        return True
    if wall_s < RELEASED_S:
        return False
    if not (root / _NETWORK_TIME).exists():
        # A person has set it, the machine's host, or another program that asks the network
        return True
    return any(_agrees(clock, wall_s) for clock in root.glob(_BATTERY_CLOCKS))


def _agrees(clock: Path, wall_s: float) -> bool:
    try:
        shown_s = float(clock.read_text())
    except (OSError, ValueError):
        return False
    return abs(shown_s - wall_s) <= _MOST_APART_S
