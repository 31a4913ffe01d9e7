"""A pin of the Pi that lets a board's power stage work: high is on, anything else is off.

The pin belongs on the enable input of the drivers, with a resistor to ground, so that a Pi that
starts, has no agent or lost its power keeps them off. gpiozero is loaded only where a pin is named.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.errors import ConfigRefused, PinRefused
from agent.text.config_hints import install_hint

if TYPE_CHECKING:
    from gpiozero import DigitalOutputDevice

HOW_TO_INSTALL = f"{install_hint('pi')}, or remove enable_gpio"


class EnableLine(Protocol):
    """A line that is switched; refuses as a `PinRefused`."""

    def switch(self, *, on: bool) -> None: ...

    def close(self) -> None:
        """Switch off and release the line."""


def missing_library() -> str:
    """Return why no pin of this machine can be driven, as far as visible without trying."""
    if importlib.util.find_spec("gpiozero") is None:
        return f"enable_gpio needs gpiozero, which is not installed: {HOW_TO_INSTALL}"
    return ""


def open_line(gpio: int) -> EnableLine:
    """Open the line of a BCM number; it is off.

    Raises:
        ConfigRefused: the library or the pin is not there.
    """
    if trouble := missing_library():
        raise ConfigRefused(trouble)
    import gpiozero  # noqa: PLC0415 - only where a pin is named

    from agent.peripherals.header import use_header  # noqa: PLC0415 - as above

    try:
        with refusals(gpio):
            use_header(Path("/dev"))
            return EnableGpioLine(gpiozero.DigitalOutputDevice(gpio, initial_value=False), gpio)
    except PinRefused as err:
        raise ConfigRefused(f"enable_gpio: {err}") from err


@contextlib.contextmanager
def refusals(gpio: int | None) -> Iterator[None]:
    """Turn the library's errors into `PinRefused` with a sentence."""
    import gpiozero  # noqa: PLC0415 - as above

    known: list[type[Exception]] = [gpiozero.GPIOZeroError, OSError, RuntimeError]
    # Beneath gpiozero, with errors of its own kind
    if (lgpio := sys.modules.get("lgpio")) is not None:
        known.append(lgpio.error)
    try:
        yield
    except tuple(known) as err:
        reason = str(err) or type(err).__name__
        raise PinRefused(f"cannot use GPIO {gpio}: {reason}") from err


class EnableGpioLine:
    """A line behind gpiozero."""

    def __init__(self, device: "DigitalOutputDevice", gpio: int) -> None:
        self._device = device
        self._gpio = gpio

    def switch(self, *, on: bool) -> None:
        with refusals(self._gpio):
            self._device.value = on

    def close(self) -> None:
        with refusals(self._gpio):
            self._device.off()
            self._device.close()
