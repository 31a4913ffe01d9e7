"""Signal of the Wi-Fi, from `/proc/net/wireless`: no program, no netlink."""

from msgspec import Struct

from agent.machine.kernel import Kernel

# Two lines of headings stand above the interfaces
_HEADINGS = 2
# Name, status, link quality, level, ...
_FIELDS = 4
# Below this packets get lost: seen from -80 dBm on by most radios of a Pi
FAINT_DBM = -80
# What the kernel's own drivers count the quality up to
_BEST_QUALITY = 70
# A level outside is not one in dBm: old drivers count in units of their own
_DBM = range(-120, 0)

# Written by wifi-again of the image while the access point refuses the password
WIFI_REFUSED = "run/barnacle-wifi/refused"


class Wireless(Struct, frozen=True):
    """One interface that is connected by radio."""

    interface: str
    signal_dbm: int | None
    quality_percent: int


def wireless(kernel: Kernel) -> list[Wireless]:
    lines = kernel.text("proc/net/wireless").splitlines()[_HEADINGS:]
    return [found for line in lines if (found := _parsed(line)) is not None]


def is_password_refused(kernel: Kernel) -> bool:
    return kernel.exists(WIFI_REFUSED)


def _parsed(line: str) -> Wireless | None:
    fields = line.split()
    if len(fields) < _FIELDS or not fields[0].endswith(":"):
        return None
    try:
        quality, level = (int(field.rstrip(".")) for field in fields[2:4])
    except ValueError:
        return None
    percent = min(100, max(0, round(100 * quality / _BEST_QUALITY)))
    return Wireless(fields[0][:-1], level if level in _DBM else None, percent)
