"""Every name and text of the firmware that comes with this agent.

A board that says nothing else of itself says nothing of its own, so that its tools are described
in our words. What it says beside them are a stranger's words. A test compares this with the
firmware.
"""

import re
from collections.abc import Collection

# Methods, their fields, choices and units; boards, their pins and what these are called
NAMES = frozenset(
    {
        "%",
        "Hz",
        "V",
        "a0",
        "a1",
        "a2",
        "a3",
        "a4",
        "a5",
        "adc",
        "adc_read",
        "address",
        "addresses",
        "angle",
        "b0",
        "b1",
        "b10",
        "b12",
        "b13",
        "b14",
        "b15",
        "b5",
        "blue",
        "blue button",
        "blue led",
        "brightness",
        "button",
        "button 1",
        "button 2",
        "button 3",
        "button_2",
        "button_3",
        "bytes",
        "celsius",
        "celsius_read",
        "climate",
        "climate_read",
        "count",
        "counter_read",
        "counter_reset",
        "d0",
        "d1",
        "d10",
        "d13",
        "d14",
        "d15",
        "d2",
        "d3",
        "d4",
        "d5",
        "d6",
        "d7",
        "d8",
        "d9",
        "data",
        "duty",
        "edges",
        "encoder",
        "encoder_read",
        "fan",
        "first",
        "frequency",
        "gpio_read",
        "gpio_write",
        "green",
        "green led",
        "green_led",
        "hPa",
        "humidity",
        "i2c",
        "i2c_read",
        "i2c_scan",
        "i2c_write",
        "in",
        "key",
        "lamp",
        "ld1",
        "ld2",
        "ld3",
        "led",
        "light",
        "lit",
        "lost",
        "mcu_temperature",
        "moisture",
        "nucleo-f401re",
        "nucleo-f411re",
        "nucleo-f446re",
        "nucleo-h743zi",
        "nucleo-wb55",
        "off",
        "on",
        "out",
        "pin",
        "pixels",
        "pixels_write",
        "position",
        "pressure",
        "pump",
        "pwm",
        "pwm_write",
        "pyboard-v1.1",
        "red",
        "red led",
        "red_led",
        "register",
        "relay",
        "s",
        "servo",
        "servo_write",
        "simulated",
        "since",
        "soil",
        "soil moisture",
        "spi",
        "spi_transfer",
        "supply_read",
        "sw1",
        "sw2",
        "sw3",
        "switch",
        "taken",
        "temperature",
        "uart",
        "uart_read",
        "uart_write",
        "user button",
        "usr",
        "value",
        "water pump",
        "weact-blackpill-f411",
        "x1",
        "x19",
        "x2",
        "x20",
        "x21",
        "x22",
        "x3",
        "x4",
        "y1",
        "y11",
        "y12",
        "y2",
        "y3",
        "y4",
        "yellow led",
        "yellow_led",
        "°",
        "°C",
    }
)
# What is said about each method
ABOUTS = frozenset(
    {
        (
            "Give count pixels from first on one colour; the others keep theirs. All go "
            "dark when nobody renews them."
        ),
        "How many pulses were counted, and for how long.",
        "Measure a temperature.",
        "Measure temperature and relative humidity, and air pressure where it can.",
        "Measure the supply voltage of the board's microcontroller.",
        "Measure the temperature of the board's microcontroller.",
        "Measure the voltage at an analog pin.",
        "Read bytes from an I2C device, from a register on; register -1 names none.",
        "Read whether a pin is on or off.",
        "Send bytes over SPI and answer those that came back meanwhile.",
        "Send text to a device on a UART.",
        (
            "Set an output's share of on-time. Frequency 0 keeps the one it has. It returns "
            "to its safe duty when nobody renews it."
        ),
        "Start counting from 0; answers what was counted until now.",
        "Switch an output on or off. It returns to its safe value when nobody renews it.",
        "The addresses, in hex, at which something answers on an I2C bus.",
        "The position of a rotary encoder in edges since the start: often 4 to a click.",
        "Turn a servo to an angle; -1 releases it, and so does a lease that ends.",
        "What a device on a UART has said since the last time, and how much was lost.",
        "Write bytes to an I2C device, the register first; answers how many it took.",
    }
)
# How it refuses
REFUSALS = frozenset(
    {
        "1 to 32 bytes",
        "a condition is about a pin without a value",
        "a duty is 0 to 100 %",
        "a frequency is at most 20000 Hz",
        "a pin is off or on",
        "a register is 0 to 255, or -1 for none",
        "an address is 8 to 119",
        "an output is on",
        "arguments missing",
        "beyond the length that was announced",
        "change, periodic or threshold",
        "erasing",
        "its flash cannot keep two versions: scripts/flash",
        "its flash has changed",
        "no room for a second version: use scripts/flash",
        "no rule can set that output",
        "no such action",
        "no such subscription",
        "no such subscription, queue or limits",
        "not all of it has arrived",
        "not what was announced: begin again",
        "nothing was begun",
        "offset beyond the configuration",
        "offset beyond the manifest",
        "scanning: ask again in a moment",
        "something holds the bus",
        "still sending: ask again in a moment",
        "stopped: nothing is sent",
        "that firmware is for another board",
        "that pin cannot be read",
        "that pin cannot measure",
        "that pin has no value to tell",
        "that pin has nothing behind it for this",
        "that pin is not an output",
        "the first measurement is under way",
        "the flash did not take it",
        "the link has been silent",
        "the output has no such value",
        "the safe value needs no duration",
        "there is no other version to go back to",
        "there is no room for another reflex",
        "there is no such action",
        "there is no such reflex",
        "this board has no such method",
        "this version is on trial itself",
        "too little memory is left",
        "what was written is not what was sent",
    }
)
# How a limit of an output is told, behind the name of its pin
_LIMITS = re.compile(
    r"must rest [0-9.]{1,10} s more \(min_off_ms [0-9]{1,10}\)"
    r"|too often: wait [0-9.]{1,10} s \(per_minute [0-9]{1,6}\)"
)
_INTERLOCK = re.compile(r"needs (\w{1,32}) (?:on|off)")
# A pin of the microcontroller, and the version of a firmware
_SHAPES = re.compile(r"P[A-K][0-9]{1,2}|[0-9]{1,3}(\.[0-9]{1,4}){0,3}|")


def is_ours(text: str, named: Collection[str] = ()) -> bool:
    """Whether a text of a board is one of ours, or a name that the owner has given."""
    return text in NAMES or text in ABOUTS or text in named or bool(_SHAPES.fullmatch(text))


def is_our_refusal(text: str, named: Collection[str] = ()) -> bool:
    """Whether our firmware refuses in these words; it may begin with the name of a pin."""
    if text in REFUSALS:
        return True
    name, _, rest = text.partition(" ")
    if not is_ours(name, named):
        return False
    interlock = _INTERLOCK.fullmatch(rest)
    is_interlock = interlock is not None and is_ours(interlock[1], named)
    return is_interlock or bool(_LIMITS.fullmatch(rest))
