"""Serial ports of this machine and what is known of each: for lists and for advice."""

from pathlib import Path

from msgspec import Struct

from agent.text.printable import printable_line

# As much as a USB device may say of itself on the screen
_MAX_LABEL_CHARS = 80
# Where udev makes names that stay: ours, and one for every serial device
_DEVICES = Path("/dev")
_STABLE_NAMES = ("barnacle-*", "serial/by-id/*")


class SerialDevice(Struct, frozen=True):
    """A serial port; `names` are other paths that lead to it and survive replugging."""

    path: str
    names: tuple[str, ...] = ()
    description: str = ""
    usb_id: str = ""


def serial_devices() -> list[SerialDevice]:
    """Every serial port that is there now, sorted by path; blocks, so it belongs in a thread."""
    from serial.tools.list_ports import comports  # noqa: PLC0415  # only where ports are listed

    return sorted(
        (
            SerialDevice(
                path=port.device,
                names=_names_of(port.device),
                description=printable_line(_described(port), _MAX_LABEL_CHARS),
                usb_id=f"{port.vid:04x}:{port.pid:04x}" if port.vid is not None else "",
            )
            for port in comports()
        ),
        key=lambda device: device.path,
    )


def _described(port: object) -> str:
    words = (getattr(port, name, None) for name in ("manufacturer", "product", "serial_number"))
    return " ".join(str(word) for word in words if word)


def _names_of(path: str) -> tuple[str, ...]:
    links = [link for pattern in _STABLE_NAMES for link in sorted(_DEVICES.glob(pattern))]
    return tuple(str(link) for link in links if link.exists() and link.samefile(path))
