"""The Pi's own pins: one owner for the whole process, so that levels stay between calls.

Outputs are at their safe values from the start, under the emergency stop and at the end. Nothing
outside this process watches them: where it is killed or the Pi hangs, they stay as they are.
"""

import contextlib
import enum
import importlib.util
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.errors import PinRefused
from agent.peripherals.enable import refusals
from agent.peripherals.settings import PiPinSettings
from agent.text.config_hints import install_hint

if TYPE_CHECKING:
    from gpiozero import GPIODevice

_log = logging.getLogger(__name__)

DEVICES = Path("/dev")
HOW_TO_INSTALL = install_hint("pi")
STOPPED = "the emergency stop holds the pins at their safe values"
# A pin that did not reach its safe value is tried again this much later, until it does
RETRY_S = 1.0


class PinLine(Protocol):
    """Line of a pin by its logical value: on or off, not high or low."""

    def read(self) -> bool: ...

    def switch(self, *, on: bool) -> None: ...

    def close(self) -> None: ...


OpenLine = Callable[[PiPinSettings], PinLine]
CallOff = Callable[[], None]
# Does something after so many seconds, unless it is called off
Later = Callable[[float, Callable[[], None]], CallOff]


def trouble_with_pins(devices: Path = DEVICES) -> str:
    """Return why no pin of this machine can be used, as far as visible without trying."""
    if not any(devices.glob("gpiochip*")):
        return (
            f"no {devices}/gpiochip* on this machine: remove [pins], or give the agent access to it"
        )
    if importlib.util.find_spec("gpiozero") is None:
        return f"gpiozero is not installed: {HOW_TO_INSTALL}"
    return ""


class PinEnding(enum.Enum):
    """Reason why an output goes back to its safe value later."""

    # The configuration lets it be on no longer
    LIMIT = "max_on_s"
    # Whoever switched it wanted it for a time
    ASKED = "for_seconds"
    # It did not reach its safe value when it should have
    OVERDUE = "overdue"


class PiPins:
    """The configured pins; safe to use from any thread."""

    def __init__(
        self,
        pins: Mapping[str, PiPinSettings],
        open_line: OpenLine | None = None,
        later: Later | None = None,
    ) -> None:
        self.pins = dict(pins)
        self._open_line = open_line or gpio_line
        self._later = later or after
        self._lines: dict[str, PinLine] = {}
        self._endings: dict[tuple[str, PinEnding], tuple[int, CallOff]] = {}
        self._begun = 0
        self._is_stopped = False
        self._is_closed = False
        # Turns, timers and the emergency stop all switch
        self._switching = threading.RLock()

    def settle(self) -> None:
        """Open the outputs at their safe values; log those that cannot be opened."""
        for name, pin in self.pins.items():
            if pin.kind == "output":
                try:
                    self.read(name)
                except PinRefused as err:
                    _log.warning("%s", err)

    def read(self, name: str) -> bool:
        """Return true if the pin is on.

        Raises:
            PinRefused: it cannot be had.
        """
        with self._switching:
            return self._line(name).read()

    def write(self, name: str, *, on: bool, for_s: float = 0.0) -> bool:
        """Switch an output and return its new reading.

        Args:
            for_s: then it goes back to its safe value; 0 is until it is switched again.

        Raises:
            PinRefused: it cannot be had, is no output, or must stay safe.
        """
        with self._switching:
            pin = self._pin(name)
            if pin.kind != "output":
                raise PinRefused(f"{name} is an input and cannot be switched")
            if self._is_stopped and on != (pin.safe == "on"):
                raise PinRefused(STOPPED)
            line = self._line(name)
            line.switch(on=on)
            self._call_off(name, PinEnding.OVERDUE)
            self._limit(name, pin, on=on)
            self._call_off(name, PinEnding.ASKED)
            if for_s:
                self._end_later(name, for_s, PinEnding.ASKED)
            return line.read()

    def stop(self) -> None:
        """Switch every output to its safe value and lock it."""
        with self._switching:
            self._is_stopped = True
            self.make_safe()

    def allow(self) -> None:
        """Unlock the outputs; none changes."""
        with self._switching:
            self._is_stopped = False

    def make_safe(self) -> None:
        """Switch every output to its safe value, even if one fails."""
        with self._switching:
            for name in self._lines:
                pin = self.pins[name]
                if pin.kind == "output":
                    self._rest(name, pin)

    def close(self) -> None:
        """Switch to safe values and release every pin."""
        with self._switching:
            self._is_closed = True
            self.make_safe()
            while self._lines:
                with contextlib.suppress(PinRefused):
                    self._lines.popitem()[1].close()

    def _pin(self, name: str) -> PiPinSettings:
        if name not in self.pins:
            raise PinRefused(f"no pin named {name} in [pins]")
        return self.pins[name]

    def _line(self, name: str) -> PinLine:
        pin = self._pin(name)
        if self._is_closed:
            raise PinRefused("the pins are closed")
        if name not in self._lines:
            self._lines[name] = self._open_line(pin)
        return self._lines[name]

    def _limit(self, name: str, pin: PiPinSettings, *, on: bool) -> None:
        """Start the limit of an output that goes on; repeating the order does not extend it."""
        if not on:
            self._call_off(name, PinEnding.LIMIT)
        elif pin.max_on_s is not None and (name, PinEnding.LIMIT) not in self._endings:
            self._end_later(name, pin.max_on_s, PinEnding.LIMIT)

    def _end_later(self, name: str, delay_s: float, why: PinEnding) -> None:
        self._begun += 1
        begun = self._begun
        call_off = self._later(delay_s, lambda: self._end(name, begun, why))
        self._endings[name, why] = (begun, call_off)

    def _end(self, name: str, begun: int, why: PinEnding) -> None:
        with self._switching:
            # A timer that ran out while it was called off ends nothing that began since
            if (name, why) in self._endings and self._endings[name, why][0] == begun:
                is_again = why is PinEnding.OVERDUE
                if self._rest(name, self.pins[name], is_again=is_again):
                    _log.info("gpio: back to its safe value (pin=%s, reason=%s)", name, why.value)

    def _rest(self, name: str, pin: PiPinSettings, *, is_again: bool = False) -> bool:
        """Return true if the output is at its safe value; else it is tried again."""
        for why in PinEnding:
            self._call_off(name, why)
        try:
            self._lines[name].switch(on=pin.safe == "on")
        except (PinRefused, OSError, RuntimeError) as err:
            if not is_again:
                _log.error("gpio: cannot reach the safe value (pin=%s, error=%r)", name, err)
            if not self._is_closed:
                self._end_later(name, RETRY_S, PinEnding.OVERDUE)
            return False
        return True

    def _call_off(self, name: str, why: PinEnding) -> None:
        if (name, why) in self._endings:
            self._endings.pop((name, why))[1]()


def after(delay_s: float, act: Callable[[], None]) -> CallOff:
    """On a thread of its own, so that it also happens while the event loop stands still."""
    timer = threading.Timer(delay_s, act)
    timer.daemon = True
    timer.start()
    return timer.cancel


def gpio_line(pin: PiPinSettings) -> PinLine:
    """A pin behind gpiozero; an output starts at its safe value.

    Raises:
        PinRefused: the library or the pin is not there.
    """
    if importlib.util.find_spec("gpiozero") is None:
        raise PinRefused(f"pins need gpiozero, which is not installed: {HOW_TO_INSTALL}")
    with refusals(pin.gpio):
        return GpioLine(_device(pin), pin)


def _device(pin: PiPinSettings) -> "GPIODevice":
    import gpiozero  # noqa: PLC0415 - only where a pin is used

    from agent.peripherals.header import use_header  # noqa: PLC0415 - as above

    use_header(DEVICES)
    if pin.kind == "output":
        starts_high = (pin.safe == "on") == (pin.active == "high")
        return gpiozero.DigitalOutputDevice(pin.gpio, initial_value=starts_high)
    if pin.pull:
        return gpiozero.DigitalInputDevice(pin.gpio, pull_up=pin.pull == "up")
    return gpiozero.DigitalInputDevice(pin.gpio, pull_up=None, active_state=True)


class GpioLine:
    """A line behind gpiozero, by its level and by which one is on; refuses as a `PinRefused`."""

    def __init__(self, device: "GPIODevice", pin: PiPinSettings) -> None:
        self._device = device
        self._pin = pin

    def read(self) -> bool:
        with refusals(self._pin.gpio):
            return bool(self._device.pin.state) == (self._pin.active == "high")

    def switch(self, *, on: bool) -> None:
        with refusals(self._pin.gpio):
            self._device.value = on == (self._pin.active == "high")

    def close(self) -> None:
        with refusals(self._pin.gpio):
            self._device.close()
