"""The `[board.pins.<name>]` tables: what is wired to which pin, and within which limits.

Values only; what becomes of them on the wire is `agent/link/configuration.py`.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from agent.config import ConfigSection
from agent.link.devices import device_table
from agent.link.devices.device_row import DeviceOption

if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[device_table.KINDS]
# A pin of the microcontroller by its own name
McuPin = Annotated[
    str, msgspec.Meta(pattern=r"^(P[A-K][0-9]{1,2})?\Z", description='a pin such as "PB0"')
]
# Another of these tables
EntryName = Annotated[
    str, msgspec.Meta(pattern=r"^([a-z][a-z0-9_]{0,31})?\Z", description="the name of another pin")
]
Alias = Annotated[str, msgspec.Meta(min_length=1, max_length=32)]

# What hangs at a pin of which nothing else is said
USUAL_KIND = "output"
_LIMITS = ("safe", "lease_ms", "max_on_s", "min_off_s", "max_per_minute", "only_while")


def _kinds_by_key() -> dict[str, tuple[str, ...]]:
    """Return which keys mean something for which kinds; the others are for every kind."""
    found: dict[str, list[str]] = {key: list(device_table.OUTPUT_KINDS) for key in _LIMITS}
    for row in device_table.ROWS:
        own = (*row.keys, *(line.name for line in (*row.lines, *row.sources)))
        for key in (*own, *(option.settings_key for option in row.options)):
            found.setdefault(key, []).append(row.kind)
    return {key: tuple(kinds) for key, kinds in found.items()}


_ONLY_FOR = _kinds_by_key()


class PinKeys(ConfigSection, frozen=True):
    """Keys of one thing behind a pin, but for those of a device; None leaves it to the board."""

    pin: McuPin = ""
    kind: Kind = USUAL_KIND
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

    def __post_init__(self) -> None:
        if not self.pin:
            raise ValueError('pin is missing: name one of the microcontroller, such as "PB0"')
        for key in self.given():
            kinds = _ONLY_FOR.get(key, (self.kind,))
            if self.kind not in kinds:
                raise ValueError(f"{key} is for {', '.join(kinds)}, not for {self.kind}")
        row = device_table.BY_KIND[self.kind]
        for line in (*row.lines, *row.sources):
            if not line.is_optional and not getattr(self, line.name):
                raise ValueError(f"{line.name} is missing: {self.kind} needs it")
        if self.safe == "on" and row.safe_on is None:
            raise ValueError(f"safe must be off for {self.kind}")

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


def _own_keys() -> list[tuple[str, Any, Any]]:
    """Return a field for each key that a kind of the table has beside the common ones."""
    common = {field.name for field in msgspec.structs.fields(PinKeys)}
    lines = [(line, McuPin, "") for line in device_table.LINES]
    sources = [(source, EntryName, "") for source in device_table.SOURCES]
    numbers = [(key, _range(same), None) for key, same in device_table.options()]
    return [one for one in (*lines, *sources, *numbers) if one[0] not in common]


def _range(options: tuple[DeviceOption, ...]) -> Any:
    """Return the type of a key: a whole number that is in range for one kind at least."""
    lowest = min(option.lowest // option.scale for option in options)
    highest = max(option.highest // option.scale for option in options)
    return Annotated[int, msgspec.Meta(ge=lowest, le=highest)] | None


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


if TYPE_CHECKING:

    class PinSettings(PinKeys, frozen=True):
        """One thing behind a pin, with the keys of its kind."""

        def __init__(self, **given: Any) -> None: ...

        def __getattr__(self, key: str) -> Any: ...
else:
    PinSettings = msgspec.defstruct(
        "PinSettings",
        _own_keys(),
        bases=(PinKeys,),
        module=__name__,
        namespace={"__doc__": "One thing behind a pin, with the keys of its kind."},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
