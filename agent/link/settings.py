"""The `[board]` table: which board, on which port."""

from typing import Annotated, Literal

import msgspec

from agent.config import ConfigSection
from agent.link.pin_settings import PinSettings
from agent.link.rate import TOP_BAUD

# In a table of a chat, and in 4 KB of a board
MAX_PIN_NAME_CHARS = 24
BOARD_NAME = "a name of 1 to 16 lower-case letters, digits and _, such as board"
# What every board starts with
START_BAUD = 115_200


class WatchSettings(ConfigSection, frozen=True):
    """A `[board.watch.<name>]` table: what to be told of, or to have the agent act on."""

    # A reading by its name: a pin, "climate.humidity", "mcu_temperature"
    pin: Annotated[str, msgspec.Meta(max_length=64)] = ""
    # One of these three; none of them is every change
    above: float | None = None
    below: float | None = None
    becomes: Annotated[str, msgspec.Meta(max_length=32)] = ""
    # Told to the owner; {value} is replaced
    say: Annotated[str, msgspec.Meta(max_length=500)] = ""
    # Or: what the agent does, in words ({value} too); acting still asks the owner
    ask: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    at_most_per_hour: Annotated[int, msgspec.Meta(ge=1, le=600)] = 6

    def __post_init__(self) -> None:
        if not self.pin:
            raise ValueError("pin is missing: name the reading to watch")
        if sum(one not in {None, ""} for one in (self.above, self.below, self.becomes)) > 1:
            raise ValueError("use only one of above, below and becomes")
        if self.say and self.ask:
            raise ValueError("use only one of say and ask")


class BoardSettings(ConfigSection, frozen=True):
    """Port and limits of a board; `pins` say what is wired to it."""

    # First word of the names of its tools: board_gpio_write
    name: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^[a-z][a-z0-9_]{0,15}\Z",
            description=BOARD_NAME,
        ),
    ] = "board"
    # A device path; empty: /dev/barnacle-board, else a USB port that looks like such a board
    port: Annotated[str, msgspec.Meta(max_length=255)] = ""
    # "auto": 115200, and then as fast as the board agrees to; a number: that, and no other
    baud: Annotated[int, msgspec.Meta(ge=9_600, le=2_000_000)] | Literal["auto"] = "auto"
    # Outputs are held four times within this time, or within the board's own lease if shorter
    lease_ms: Annotated[int, msgspec.Meta(ge=200, le=10_000)] = 2_000
    # A pin with a button: pressing it says yes to the question that is open
    approve_button: Annotated[str, msgspec.Meta(max_length=32)] = ""
    # A GPIO of the Pi, by its BCM number, that lets the outputs have power; -1: none
    enable_gpio: Annotated[int, msgspec.Meta(ge=-1, le=27)] = -1
    # An output, a PWM or NeoPixels that show how the agent is
    status_light: Annotated[str, msgspec.Meta(max_length=32)] = ""
    watch: dict[str, WatchSettings] = msgspec.field(default_factory=dict)
    # What is wired where, by the name that people use
    pins: dict[str, PinSettings] = msgspec.field(default_factory=dict)

    @property
    def start_baud(self) -> int:
        """Rate that the port is opened with."""
        return START_BAUD if self.baud == "auto" else self.baud

    @property
    def top_baud(self) -> int:
        """Highest rate that the port may be raised to."""
        return TOP_BAUD if self.baud == "auto" else self.baud

    def __post_init__(self) -> None:
        for name, pin in self.pins.items():
            if len(name) > MAX_PIN_NAME_CHARS:
                raise ValueError(
                    f"pins has a name longer than {MAX_PIN_NAME_CHARS} characters: {name}"
                )
            if name in pin.only_while:
                raise ValueError(f"pins.{name}.only_while names {name} itself")
