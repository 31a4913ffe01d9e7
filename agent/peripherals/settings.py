"""The `[pins.<name>]` and `[i2c.<name>]` tables: what is wired to this machine itself.

Values only. The words are those of a board's pins, where they mean the same.
"""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import ConfigSection

Alias = Annotated[str, Meta(min_length=1, max_length=32)]
Aliases = Annotated[tuple[Alias, ...], Meta(max_length=8)]
# The pins of bus 1, where it is in use
BUS_1_GPIOS = frozenset({2, 3})


class PiPinSettings(ConfigSection, frozen=True):
    """One thing behind a GPIO of this machine."""

    # By its BCM number; 0 and 1 belong to the memory of add-on boards
    gpio: Annotated[int, Meta(ge=2, le=27)] | None = None
    kind: Literal["output", "input"] = "output"
    # Which level is "on"
    active: Literal["high", "low"] = "high"
    # How an output is from the start, at the emergency stop and when the agent ends
    safe: Literal["off", "on"] = "off"
    # The agent ends it after that
    max_on_s: Annotated[float, Meta(ge=0.1, le=86_400)] | None = None
    # Nothing but the agent holds such a pin in check, so it asks every time unless told otherwise
    danger: Literal["actuate", "hazard"] = "hazard"
    pull: Literal["", "up", "down"] = ""
    aliases: Aliases = ()
    # As of a board's pins
    also: Annotated[tuple[Alias, ...], Meta(max_length=16)] = ()
    place: Annotated[str, Meta(max_length=32)] = ""
    group: Aliases = ()
    opens: Literal["on", "off"] = "on"

    def __post_init__(self) -> None:
        if self.gpio is None:
            raise ValueError("gpio is missing: give a BCM number, such as 17")
        if self.kind == "input" and (self.max_on_s is not None or self.safe == "on"):
            raise ValueError("safe and max_on_s are only for output")
        if self.kind == "output" and self.pull:
            raise ValueError("pull is only for input")
        if self.max_on_s is not None and self.safe == "on":
            raise ValueError("safe cannot be on together with max_on_s, which switches off")


class I2cSettings(ConfigSection, frozen=True):
    """One device on an I2C bus of this machine."""

    # /dev/i2c-1 is the one on the header
    bus: Annotated[int, Meta(ge=0, le=63)] = 1
    # 0: not known yet; the bus is only scanned
    address: Literal[0] | Annotated[int, Meta(ge=0x08, le=0x77)] = 0
    # Whether it may be written to, and as what that counts
    write: Literal["never", "actuate", "hazard"] = "never"
    aliases: Aliases = ()

    def __post_init__(self) -> None:
        if not self.address and self.write != "never":
            raise ValueError("address is missing: write needs it")
