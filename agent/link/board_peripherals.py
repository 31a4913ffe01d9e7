"""Timers and UARTs behind the pins of the boards that we know, as MicroPython 1.28 takes them.

A board has no room to say it, and one that described itself cannot. `machine.PWM` takes a pin's
second timer channel, or its only one; a UART takes the two pins that the board's build gives it.
"""

from collections.abc import Mapping

# Pin, timer and channel
_F405 = (
    "PA0:5.1 PA1:5.2 PA2:5.3 PA3:5.4 PA5:2.1 PA6:13.1 PA7:14.1 PA15:2.1 PB0:3.3 "
    "PB1:3.4 PB3:2.2 PB4:3.1 PB6:4.1 PB7:4.2 PB8:10.1 PB10:2.3 PB11:2.4 PB14:12.1 "
    "PB15:12.2 PC6:8.1 PC7:8.2"
)
_F411_BLACK_PILL = (
    "PA0:5.1 PA1:5.2 PA2:5.3 PA3:5.4 PA8:1.1 PA9:1.2 PA10:1.3 PA15:2.1 PB0:3.3 "
    "PB1:3.4 PB3:2.2 PB5:3.2 PB6:4.1 PB7:4.2 PB8:10.1 PB10:2.3"
)
_NUCLEO_64 = (
    "PA0:5.1 PA1:5.2 PA6:3.1 PA7:3.2 PA8:1.1 PA9:1.2 PA10:1.3 PA11:1.4 PA15:2.1 "
    "PB0:3.3 PB1:3.4 PB4:3.1 PB5:3.2 PB6:4.1 PB7:4.2 PB8:10.1 PB10:2.3 PC6:3.1 "
    "PC7:3.2 PC8:3.3 PC9:3.4"
)
_F446 = (
    "PA0:5.1 PA1:5.2 PA6:13.1 PA7:14.1 PA8:1.1 PA9:1.2 PA10:1.3 PA11:1.4 PA15:2.1 "
    "PB0:3.3 PB1:3.4 PB4:3.1 PB5:3.2 PB6:4.1 PB7:4.2 PB8:4.3 PB10:2.3 PC6:8.1 PC7:8.2 "
    "PC8:8.3 PC9:8.4 PB9:4.4 PB14:12.1 PB15:12.2"
)
_H743 = "PA3:5.4 PB8:4.3 PB9:4.4 PD14:4.3 PD15:4.4 PE9:1.1 PE11:1.2 PE13:1.3"
_WB55 = "PA0:2.1 PA1:2.2 PA2:2.3 PA3:2.4 PA8:1.1 PA9:1.2 PA10:1.3"

_CHANNELS: Mapping[str, str] = {
    "pyboard-v1.1": _F405,
    "weact-blackpill-f411": _F411_BLACK_PILL,
    "nucleo-f401re": _NUCLEO_64,
    "nucleo-f411re": _NUCLEO_64,
    "nucleo-f446re": _F446,
    "nucleo-h743zi": _H743,
    "nucleo-wb55": _WB55,
}
# Number, TX and RX, but for the one of the link
_UARTS: Mapping[str, str] = {
    "pyboard-v1.1": "1:PB6:PB7 2:PA2:PA3 3:PB10:PB11 4:PA0:PA1 6:PC6:PC7",
    "weact-blackpill-f411": "1:PA9:PA10 2:PA2:PA3",
    "nucleo-f401re": "6:PC6:PC7",
    "nucleo-f411re": "6:PC6:PC7",
    "nucleo-f446re": "1:PB6:PB7 3:PB10:PC5 4:PA0:PA1 6:PC6:PC7",
    "nucleo-h743zi": "1:PB6:PB15 2:PD5:PD6 6:PC6:PC7 7:PF7:PF6 8:PE1:PE0",
}
BOARDS = tuple(_CHANNELS)


def channels(board: str) -> dict[str, tuple[str, str]]:
    """Return timer and channel behind each pin of that board that drives a PWM."""
    words = (word.replace(":", ".").split(".") for word in _CHANNELS.get(board, "").split())
    return {pin: (timer, channel) for pin, timer, channel in words}


def uarts(board: str) -> dict[str, tuple[str, str]]:
    """Return TX and RX of each UART of that board, by its number."""
    words = (word.split(":") for word in _UARTS.get(board, "").split())
    return {number: (tx, rx) for number, tx, rx in words}
