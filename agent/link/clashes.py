"""Entries of a configuration that get into each other's way inside the microcontroller.

All pins of a timer's channel do the same, all channels of a timer have its frequency, and a UART
takes both of its lines whatever an entry calls its pin. On a board whose pins are not known here
nothing is found.
"""

from collections.abc import Mapping

from agent.link.board_peripherals import channels, uarts
from agent.link.devices.device_table import BY_KIND
from agent.link.pin_settings import PinSettings


def clash(pins: Mapping[str, PinSettings], board: str) -> str:
    """Return the first clash in a sentence that names the entries; empty if there is none."""
    names = sorted(pins)
    for at, name in enumerate(names):
        lines = _lines_of_uart(pins[name], board)
        if lines and pins[name].pin != lines[0]:
            number = _option(pins[name], "uart")
            return f"{name}: uart {number} sends at {lines[0]}: name that pin"
        for other in names[:at]:
            if words := _between(pins[name], pins[other], board):
                return f"{other} and {name} both need {words}"
    return ""


def _between(one: PinSettings, other: PinSettings, board: str) -> str:
    timer, channel = _channel_of(one, board)
    their_timer, their_channel = _channel_of(other, board)
    if timer and timer == their_timer:
        is_whole = not channel or not their_channel
        # A write to a PWM may set the frequency: at another a servo is driven against its stop
        is_servo_beside = (one.kind == "servo") != (other.kind == "servo")
        if is_whole or channel == their_channel or is_servo_beside:
            return f"timer {timer}: use another pin or timer for one of them"
    lines, their_lines = _lines_of_uart(one, board), _lines_of_uart(other, board)
    both = {*lines, *_pins_of(one)} & {*their_lines, *_pins_of(other)}
    # Lines of a bus may be shared
    return min(both & {*lines, *their_lines}, default="")


def _channel_of(settings: PinSettings, board: str) -> tuple[str, str]:
    """Return timer and channel; the channel is empty where the whole timer is taken."""
    if BY_KIND[settings.kind].use == "pwm":
        return channels(board).get(settings.pin, ("", ""))
    whole = _option(settings, "timer")
    return ("" if whole is None else str(whole)), ""


def _lines_of_uart(settings: PinSettings, board: str) -> tuple[str, ...]:
    if settings.kind != "uart":
        return ()
    return uarts(board).get(str(_option(settings, "uart")), ())


def _pins_of(settings: PinSettings) -> frozenset[str]:
    lines = (getattr(settings, line.name) for line in BY_KIND[settings.kind].lines)
    return frozenset(pin for pin in (settings.pin, *lines) if pin)


def _option(settings: PinSettings, name: str) -> int | None:
    """Return what it says or leaves to its kind; None where that has no such option."""
    for option in BY_KIND[settings.kind].options:
        if option.name == name:
            given: int | None = getattr(settings, option.settings_key)
            return option.default if given is None else given
    return None
