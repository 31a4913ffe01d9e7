"""The `[board.pins.<name>]` tables: what is wired to which pin, and within which limits.

Values only; what becomes of them on the wire is `agent/link/configuration.py`.
"""

from typing import Annotated, Any, Literal

import msgspec

from agent.config import Section

Kind = Literal[
    "output",
    "input",
    "analog",
    "pwm",
    "servo",
    "counter",
    "encoder",
    "ds18b20",
    "dht22",
    "bme280",
    "neopixel",
    "i2c",
    "spi",
    "uart",
]
# A pin of the microcontroller by its own name
McuPin = Annotated[
    str, msgspec.Meta(pattern=r"^(P[A-K][0-9]{1,2})?\Z", description='a pin such as "PB0"')
]
Alias = Annotated[str, msgspec.Meta(min_length=1, max_length=32)]

_LIMITS = ("safe", "lease_ms", "max_on_s", "min_off_s", "max_per_minute", "only_while")
# Which keys mean something for which kinds; the others are for every kind
_ONLY_FOR: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_LIMITS, ("output", "pwm", "servo", "neopixel")),
    "active": ("output", "input", "counter", "pwm"),
    "pull": ("input", "counter", "encoder"),
    "debounce_ms": ("input", "counter"),
    "pin_b": ("encoder",),
    "sda": ("i2c", "bme280"),
    "address": ("bme280",),
    "frequency": ("pwm", "i2c", "bme280", "spi"),
    "count": ("neopixel",),
    "brightest": ("neopixel",),
    "opens": ("output", "pwm"),
    "degrees": ("servo",),
    "least_us": ("servo",),
    "most_us": ("servo",),
    "sck": ("spi",),
    "mosi": ("spi",),
    "miso": ("spi",),
    "mode": ("spi",),
    "baud": ("uart",),
    "uart": ("uart",),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "encoder": ("pin_b",),
    "i2c": ("sda",),
    "bme280": ("sda",),
    "spi": ("sck", "mosi", "miso"),
}


class PinSettings(Section, frozen=True):
    """One thing behind a pin; None leaves it to the board."""

    pin: McuPin = ""
    kind: Kind = "output"
    # Other words for it, in any language; they never leave this machine
    aliases: Annotated[tuple[Alias, ...], msgspec.Meta(max_length=8)] = ()
    # Still more of them
    also: Annotated[tuple[Alias, ...], msgspec.Meta(max_length=16)] = ()
    # Where it is, and what it is called together with others
    place: Annotated[str, msgspec.Meta(max_length=32)] = ""
    group: Annotated[tuple[Alias, ...], msgspec.Meta(max_length=8)] = ()
    # At which value a valve, a door or a lock is open
    opens: Literal["on", "off"] = "on"
    # Which level is "on"
    active: Literal["high", "low"] = "high"
    # How it is while nobody holds it
    safe: Literal["off", "on"] = "off"
    # It goes back to safe this long after the agent has gone silent
    lease_ms: Annotated[int, msgspec.Meta(ge=200, le=10_000)] | None = None
    max_on_s: Annotated[float, msgspec.Meta(ge=0.1, le=86_400)] | None = None
    min_off_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] | None = None
    max_per_minute: Annotated[int, msgspec.Meta(ge=1, le=60)] | None = None
    # Other pins and how each has to be
    only_while: Annotated[dict[str, Literal["on", "off"]], msgspec.Meta(max_length=4)] = (
        msgspec.field(default_factory=dict)
    )
    # "hazard" asks the owner every time
    danger: Literal["actuate", "hazard"] = "actuate"
    pull: Literal["", "up", "down"] = ""
    debounce_ms: Annotated[int, msgspec.Meta(ge=0, le=200)] | None = None
    # The second line of an encoder, and the lines of buses; `pin` is A, SCL, chip select
    pin_b: McuPin = ""
    sda: McuPin = ""
    sck: McuPin = ""
    mosi: McuPin = ""
    miso: McuPin = ""
    address: Annotated[int, msgspec.Meta(ge=0x76, le=0x77)] | None = None
    frequency: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    mode: Annotated[int, msgspec.Meta(ge=0, le=3)] | None = None
    # Lights of a strip, and how bright each may be
    count: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    brightest: Annotated[int, msgspec.Meta(ge=1, le=255)] | None = None
    # A servo's range and the pulses at its ends
    degrees: Annotated[int, msgspec.Meta(ge=1, le=360)] | None = None
    least_us: Annotated[int, msgspec.Meta(ge=400, le=2_600)] | None = None
    most_us: Annotated[int, msgspec.Meta(ge=400, le=2_600)] | None = None
    uart: Annotated[int, msgspec.Meta(ge=1, le=8)] | None = None
    baud: Annotated[int, msgspec.Meta(ge=1_200, le=460_800)] | None = None

    def __post_init__(self) -> None:
        if not self.pin:
            raise ValueError('pin is missing: name one of the microcontroller, such as "PB0"')
        for key in self.given():
            kinds = _ONLY_FOR.get(key, (self.kind,))
            if self.kind not in kinds:
                raise ValueError(f"{key} is for {', '.join(kinds)}, not for {self.kind}")
        for key in _REQUIRED.get(self.kind, ()):
            if not getattr(self, key):
                raise ValueError(f"{key} is missing: {self.kind} needs it")
        if self.kind in {"servo", "neopixel"} and self.safe == "on":
            raise ValueError(f"safe is off for {self.kind}")

    @property
    def called(self) -> tuple[str, ...]:
        """Every word that the owner has given to it, besides its name."""
        words = (*self.aliases, *self.also, self.place, *self.group)
        return tuple(word for one in words if (word := one.strip()))

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        fields = msgspec.structs.fields(self)
        values = {field.name: getattr(self, field.name) for field in fields}
        return {
            field.name: values[field.name]
            for field in fields
            if values[field.name] != _default_of(field)
        }


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default
