"""Load, uptime, memory and temperature of the processor."""

from agent.machine.kernel import Kernel, first_number

_KB_PER_MB = 1024
# A Pi becomes slower from here on, so that it does not get hotter
HOT_C = 80.0
_MAX_SANE_C = 200.0


def load_1min(kernel: Kernel) -> float | None:
    return first_number(kernel.text("proc/loadavg"))


def uptime_s(kernel: Kernel) -> int | None:
    found = first_number(kernel.text("proc/uptime"))
    return None if found is None else int(found)


def memory_mb(kernel: Kernel) -> dict[str, int]:
    return parse_meminfo(kernel.text("proc/meminfo"))


def total_memory_mb() -> int:
    """Return the memory of this machine, or 0 where the kernel does not tell."""
    return memory_mb(Kernel()).get("MemTotal", 0)


def temperature_c(kernel: Kernel) -> float | None:
    zones = kernel.matches("sys/class/thermal/thermal_zone*")
    # On most machines the first zone is the processor; where a type says so, it is that one
    zones.sort(key=lambda zone: "cpu" not in kernel.text(f"{zone}/type"))
    found = (parse_temperature(kernel.text(f"{zone}/temp")) for zone in zones)
    return next((value for value in found if value is not None), None)


def parse_meminfo(text: str) -> dict[str, int]:
    """Megabytes by name, of the lines that are given in kB."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if unit == "kB" and number.isascii() and number.isdecimal():
            found[name] = int(number) // _KB_PER_MB
    return found


def parse_temperature(text: str) -> float | None:
    """Degrees from the thousandths that the kernel gives; None where they cannot be true."""
    value = first_number(text)
    if value is None or not abs(value) <= 1000 * _MAX_SANE_C:
        return None
    return round(value / 1000, 1)
