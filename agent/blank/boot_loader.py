"""Boot loader of an STM32 on USB: found in the kernel's tree, and the flash that it says it has."""

import re
from pathlib import Path

from msgspec import Struct

from agent.blank.dfu import Element
from agent.text.printable import printable_line

USB_ID = ("0483", "df11")
USB_DEVICES = Path("/sys/bus/usb/devices")
# The first one of `dfu-util -l` is the flash; others are option bytes and one-time memory
_FLASH = "@Internal Flash"
_MAX_TEXT_CHARS = 200
_UNITS = {"B": 1, " ": 1, "K": 1024, "M": 1024 * 1024}
_SEGMENT = re.compile(r"(\d+)\*(\d+)([ BKM])([a-g])")
# Letters of a segment that may be read, erased and written (UM0391)
_WRITABLE = "g"


class BootLoader(Struct, frozen=True):
    """One boot loader that is plugged in.

    Args:
        port: the port of USB that it is at, such as `1-1.2`.
        visit: another one each time that something is plugged in there.
        layout: its flash in its own words; empty where it could not be read.
    """

    port: str
    visit: str
    layout: str = ""

    def has_room(self, elements: tuple[Element, ...]) -> bool:
        """Return true if every piece lies in flash that may be written, or nobody knows."""
        spans = writable_spans(self.layout)
        return not spans or all(
            any(
                start <= one.address and one.address + len(one.content) <= end
                for start, end in spans
            )
            for one in elements
        )


def boot_loaders(devices: Path = USB_DEVICES) -> tuple[BootLoader, ...]:
    """Return the boot loaders that are there now, by port."""
    found = []
    for vendor in sorted(devices.glob("*/idVendor")):
        device = vendor.parent
        if (_text(vendor), _text(device / "idProduct")) == USB_ID:
            layout = _text(device / f"{device.name}:1.0" / "interface")
            visit = f"{device.name} {_text(device / 'devnum')} {_text(device / 'serial')}"
            found.append(BootLoader(device.name, visit, layout))
    return tuple(found)


def writable_spans(layout: str) -> tuple[tuple[int, int], ...]:
    """Return first and last address of each stretch of flash that a layout offers.

    `@Internal Flash  /0x08000000/04*016Kg,01*064Kg` is one of 128 KB.
    """
    if not layout.startswith(_FLASH):
        return ()
    words = layout.split("/")[1:]
    found = []
    for address, segments in zip(words[::2], words[1::2], strict=False):
        try:
            start = at = int(address, 16)
        except ValueError:
            return ()
        for count, size, unit, letter in _SEGMENT.findall(segments):
            if letter != _WRITABLE:
                break
            at += int(count) * int(size) * _UNITS[unit]
        found.append((start, at))
    return tuple(found)


def _text(path: Path) -> str:
    try:
        return printable_line(path.read_text(errors="replace").strip(), _MAX_TEXT_CHARS)
    except OSError:
        return ""
