"""Supply voltage and throttling, as the Pi's firmware reports them.

Two files tell, and a kernel may have none of them: Raspberry Pi OS has both, Debian's own kernels
(6.12, 7.3) neither, since they are built without the driver `raspberrypi-hwmon`.
"""

from agent.machine.kernel import Kernel

_FIRMWARE_FILE = "sys/devices/platform/soc/soc:firmware/get_throttled"
# The driver's name for itself; its alarm is set while, and 2 s after, the voltage was too low
_DRIVER = "rpi_volt"
_ALARM = "in0_lcrit_alarm"
UNDER_VOLTAGE = "under-voltage now"
# Bits of the firmware's answer, now and (16 bits higher) since the last start
_BITS = {
    0: UNDER_VOLTAGE,
    1: "frequency capped now",
    2: "throttled now",
    3: "soft temperature limit now",
    16: "under-voltage since start",
    17: "frequency capped since start",
    18: "throttled since start",
    19: "soft temperature limit since start",
}
SLOWED = frozenset(_BITS[bit] for bit in (1, 2, 3))


def throttled(kernel: Kernel) -> list[str] | None:
    """Return supply and speed problems; empty if all is well, None if unknown."""
    told = parse_throttled(kernel.text(_FIRMWARE_FILE))
    alarm = _alarm(kernel)
    if alarm is None:
        return told
    now = [UNDER_VOLTAGE] if alarm else []
    return now + [word for word in told or () if word not in now]


def parse_throttled(text: str) -> list[str] | None:
    """Return the problems in the firmware's bits, such as `0x50005`; empty if all is well."""
    try:
        bits = int(text.strip(), 16)
    except ValueError:
        return None
    return [meaning for bit, meaning in _BITS.items() if bits >> bit & 1]


def _alarm(kernel: Kernel) -> bool | None:
    for folder in kernel.matches("sys/class/hwmon/hwmon*"):
        if kernel.word(f"{folder}/name") == _DRIVER:
            state = kernel.number(f"{folder}/{_ALARM}")
            return None if state is None else state != 0
    return None
