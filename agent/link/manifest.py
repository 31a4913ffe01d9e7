"""What a board says it can do: methods with typed arguments, and pins with their names."""

from collections.abc import Sequence

import msgspec


class Field(msgspec.Struct, frozen=True):
    """One argument or one part of a result; `format` is a `struct` code of one value."""

    name: str
    format: str
    # The value is the index of a pin with this capability
    pins: str = ""
    # The value is a position in this list
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    # Value on the wire times scale is the value in the unit
    scale: float = 1.0


class Method(msgspec.Struct, frozen=True):
    """Something the board can do; `safety` is read, actuate or hazard."""

    id: int
    name: str
    about: str
    arguments: tuple[Field, ...] = ()
    result: tuple[Field, ...] = ()
    safety: str = "hazard"
    idempotent: bool = False
    lease: bool = False


class Pin(msgspec.Struct, frozen=True):
    """A pin by the name that people use; values are logical, 1 is on."""

    index: int
    name: str
    pin: str
    aliases: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    active_low: bool = False
    safe: int = 0
    lease_ms: int = 2000


class Manifest(msgspec.Struct, frozen=True):
    """The board's description of itself; unknown keys of newer firmware are ignored."""

    manifest: int
    board: str
    methods: tuple[Method, ...] = ()
    pins: tuple[Pin, ...] = ()

    def method(self, name: str) -> Method | None:
        return next((method for method in self.methods if method.name == name), None)

    def pins_that_can(self, capability: str) -> Sequence[Pin]:
        return [pin for pin in self.pins if capability in pin.can]
