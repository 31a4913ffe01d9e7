"""The form of `barnacle doctor --report`: what the kernel found on this Pi, what to try by hand.

Names of drivers and models only: no serial number, no address, no name of a network, no secret.
"""

import platform
import re
from collections.abc import Iterator
from pathlib import Path

from agent.machine.kernel import Kernel
from agent.machine.readings import Readings
from agent.peripherals.header import chip_labels, header_chip
from agent.text.printable import printable_line

# Only a Raspberry Pi names itself there
MODEL = "proc/device-tree/model"
_NONE = "none"
_WIDTH = 14
_LONGEST = 160
# Ports of the processor itself; those on USB are boards
_PORTS = ("ttyAMA[0-9]*", "ttyS[0-9]*")
_BUTTONS = frozenset({"gpio-keys", "pwr_button"})
# systemd calls an interface on USB by its address, which says which device it is
_BY_ADDRESS = re.compile(r"\b((?:en|wl|ww)x)[0-9a-f]{12}\b")
# What no program can see, in the order of ten minutes
BY_HAND = (
    "it starts from the card, and the screen shows the pairing code",
    "it joins the Wi-Fi of barnacle.toml; unplugged Ethernet makes no difference",
    "a board is found at each USB port: barnacle board list",
    "an LED between GPIO 17 and ground goes on and off by a sentence in the chat",
    "something on I2C (pins 3 and 5) is found: ask for i2c_scan on bus 1",
    "the serial port shows the start (GPIO 14 and 15; on a Pi 5 the plug between its HDMI ports)",
    "`echo c > /proc/sysrq-trigger` as root: it is back by itself within two minutes",
    "the power button (Pi 5) ends it cleanly: `journalctl -b -1 | tail` says so",
    "the plug pulled in the middle of an answer: it is back, and answers",
    "`sudo barnacle update FILE` tries the new version and keeps it",
)


def form(readings: Readings, version: str) -> str:
    """Return the form, filled in as far as the kernel tells."""
    told = [(name, _BY_ADDRESS.sub(r"\1...", value)) for name, value in _told(readings, version)]
    lines = [f"{name:{_WIDTH}} {printable_line(value, _LONGEST) or _NONE}" for name, value in told]
    asked = [f"[ ] {number}. {what}" for number, what in enumerate(BY_HAND, start=1)]
    return "\n".join(
        (
            "Hardware report of Barnacle. It holds no secret and no address.",
            "",
            *lines,
            "",
            "Tried by hand (x: it does, -: it does not, empty: not tried):",
            *asked,
            "",
        )
    )


def _told(readings: Readings, version: str) -> Iterator[tuple[str, str]]:
    kernel = readings.kernel
    yield "version", version
    yield "model", kernel.text(MODEL).strip("\0\n")
    yield "revision", _revision(kernel)
    yield "kernel", f"{platform.release()} {platform.machine()}"
    tree = kernel.text("proc/device-tree/compatible").strip("\0\n")
    yield "device tree", tree.replace("\0", " ")
    memory_mb = readings.memory_mb().get("MemTotal")
    yield "memory", f"{memory_mb} MB" if memory_mb else ""
    yield "pins", _pins(kernel.root / "dev")
    yield "I2C", _named(kernel, "sys/bus/i2c/devices/i2c-[0-9]*", "name")
    yield "serial ports", ", ".join(_ports(kernel))
    yield "console", ", ".join(line.split()[0] for line in _lines(kernel, "proc/consoles"))
    yield "watchdog", ", ".join(_watchdogs(kernel))
    yield "clock", _named(kernel, "sys/class/rtc/rtc[0-9]*", "name")
    yield "power button", ", ".join(_buttons(kernel))
    yield "network", ", ".join(_interfaces(kernel))
    yield "Wi-Fi", ", ".join(f"{one.interface} {one.signal_dbm} dBm" for one in readings.wireless())
    yield "throttling", _throttling(readings)
    heat = readings.temperature_c()
    yield "temperature", "not told by this kernel" if heat is None else f"{heat:g} °C"


def _revision(kernel: Kernel) -> str:
    try:
        told = (kernel.root / "proc/device-tree/system/linux,revision").read_bytes()
    except OSError:
        return ""
    return told.hex()


def _pins(devices: Path) -> str:
    labels = chip_labels(devices)
    header = f"gpiochip{header_chip(labels)}"
    return ", ".join(
        f"{name} {label}{' (the header)' if name == header else ''}"
        for name, label in labels.items()
    )


def _ports(kernel: Kernel) -> Iterator[str]:
    for pattern in _PORTS:
        for path in kernel.matches(f"sys/class/tty/{pattern}"):
            # The kernel keeps numbers of ports free that are none
            if kernel.number(f"{path}/type"):
                yield Path(path).name


def _watchdogs(kernel: Kernel) -> Iterator[str]:
    for path in kernel.matches("sys/class/watchdog/watchdog[0-9]*"):
        words = [kernel.word(f"{path}/{name}") for name in ("identity", "timeout", "state")]
        yield f"{Path(path).name} {words[0]} {words[1]} s {words[2]}"


def _buttons(kernel: Kernel) -> Iterator[str]:
    for path in kernel.matches("sys/class/input/input[0-9]*"):
        name = kernel.word(f"{path}/name")
        if name in _BUTTONS:
            yield name


def _interfaces(kernel: Kernel) -> Iterator[str]:
    for path in kernel.matches("sys/class/net/*/device/driver"):
        folder = Path(path).parents[1]
        driver = (kernel.root / path).resolve().name
        yield f"{folder.name} {driver} {kernel.word(f'{folder}/operstate')}"


def _throttling(readings: Readings) -> str:
    told = readings.throttled()
    if told is None:
        return "not told by this kernel"
    return ", ".join(told) or "no"


def _named(kernel: Kernel, pattern: str, name: str) -> str:
    found = kernel.matches(pattern)
    return ", ".join(f"{Path(path).name} {kernel.word(f'{path}/{name}')}" for path in found)


def _lines(kernel: Kernel, path: str) -> list[str]:
    return [line for line in kernel.text(path).splitlines() if line.strip()]
