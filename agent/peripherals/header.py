"""The pins of the Pi's header: which of the kernel's chips they are, whatever its number.

The numbers depend on which driver comes first, and on a Pi 5 the processor has chips of its own.
"""

import fcntl
import importlib.util
import os
import struct
from collections.abc import Mapping
from pathlib import Path

# The label of a chip, by the word for it in the kernel's device tree: Pi 5, Pi 4, and before
CHIPS: Mapping[str, str] = {
    "raspberrypi,rp1-gpio": "pinctrl-rp1",
    "brcm,bcm2711-gpio": "pinctrl-bcm2711",
    "brcm,bcm2835-gpio": "pinctrl-bcm2835",
}
# As of linux/gpio.h: name, label, number of lines
_CHIP_INFO = 0x8044B401
_INFO = struct.Struct("=32s32sI")
_NAME = "gpiochip"


def chip_labels(devices: Path) -> dict[str, str]:
    """Return the label of each chip that can be opened, by its name in /dev."""
    labels = {}
    for path in sorted(devices.glob(f"{_NAME}[0-9]*")):
        try:
            with path.open("rb") as chip:
                told = fcntl.ioctl(chip, _CHIP_INFO, bytes(_INFO.size))
        except OSError:
            continue
        labels[path.name] = _INFO.unpack(told)[1].rstrip(b"\0").decode(errors="replace")
    return labels


def header_chip(labels: Mapping[str, str]) -> int | None:
    """Return the number of the header's chip; None where no label tells."""
    for label in CHIPS.values():
        for name, said in labels.items():
            if said == label:
                return int(name.removeprefix(_NAME))
    return None


def use_header(devices: Path) -> None:
    """Have gpiozero use the header's chip, unless something was chosen before.

    Where no chip is known by its label, gpiozero chooses one by itself.
    """
    import gpiozero  # noqa: PLC0415 - only where a pin is used

    if gpiozero.Device.pin_factory is not None or "GPIOZERO_PIN_FACTORY" in os.environ:
        return
    number = header_chip(chip_labels(devices))
    if number is not None and importlib.util.find_spec("lgpio") is not None:
        from gpiozero.pins.lgpio import LGPIOFactory  # noqa: PLC0415 - as above

        gpiozero.Device.pin_factory = LGPIOFactory(chip=number)
