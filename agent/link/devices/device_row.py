"""Row of the table of device kinds.

The agent makes its settings and its words of a row, the firmware its manifest and the ranges that
it judges entries by, and the simulator what hangs on its pins. A row needs nothing but Python's own
library: the simulator runs without the agent's dependencies. It is a named tuple, which takes a
sixth of the time of a data class at every start.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})

# Sorts of a bus, as the firmware has them among the flags of a kind
I2C_LINES = "s"
ONE_WIRE_LINE = "w"


class DeviceField(NamedTuple):
    """One argument of a method or one part of its result, as `Field` of the manifest reads it."""

    name: str
    format: str
    pins: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    scale: float = 1.0
    text: bool = False
    optional: bool = False


class DeviceMethod(NamedTuple):
    """One call that the board answers, as `Method` of the manifest reads it."""

    id: int
    name: str
    about: str
    arguments: tuple[DeviceField, ...] = ()
    result: tuple[DeviceField, ...] = ()
    safety: str = "hazard"
    idempotent: bool = False
    lease: bool = False


class DeviceOption(NamedTuple):
    """A whole number that an entry of the configuration may give.

    Args:
        name: in the entry that the board gets.
        key: in `[board.pins.<name>]`, where that differs from `name`.
        scale: value in the entry for each 1 of the key.
        is_limit: a larger one is looser, which waits for the owner's word.
        is_rest: a smaller one is looser, which waits too.
        is_wiring: another one drives something else, or the other way, which waits for it too.
    """

    name: str
    lowest: int
    highest: int
    default: int
    unit: str = ""
    key: str = ""
    scale: int = 1
    is_limit: bool = False
    is_rest: bool = False
    is_wiring: bool = False

    @property
    def settings_key(self) -> str:
        return self.key or self.name


class DeviceLine(NamedTuple):
    """A further pin, or another entry, that an entry names; it must, unless it is optional."""

    name: str
    about: str
    is_optional: bool = False


class Counterpart(NamedTuple):
    """Thing of `firmware/simulator/attached/` that hangs on the simulated board by default."""

    kind: str
    settings: Mapping[str, Any]


class DeviceRow(NamedTuple):
    """Everything about one kind that is not its driver's code.

    Args:
        kind: name in the configuration; also of the driver's file and, capitalised, of its class.
        can: capabilities of a pin of this kind, the first one its own.
        methods: what the board does with it; ids on the wire never change.
        pin: what its `pin` is connected to.
        use: what the microcontroller must be able to do at its `pin`: gpio, adc or pwm.
        keys: common keys of the settings that mean something for it.
        sources: other entries that it reads, by the key that names each.
        plain_options: further options that its entry may have, judged for all kinds alike.
        is_output: lease, limits, interlocks and a safe value hold for it.
        safe: range of its safe value, where it has one.
        safe_on: what `safe = "on"` is in the entry; None: it cannot be.
        at_rest: field of its write method and the value at which it needs no lease; None: its
            safe value.
        is_settable: one number says everything about it.
        trial: fields of its write method that show it at work; empty where a person sees nothing.
        shares_lines: the sort of bus that its lines are, which others of that sort may name too.
        has_driver: a module under `firmware/node/devices`; the firmware's own pins have none.
        is_spacious: its driver finds room only on boards with more than 64 KB for files.
        is_bulky: with it, two versions find no room on a board with 112 KB for files.
        refusals: sentences with which its driver refuses, where no other has them.
        quantities: what its counterpart measures, as long as nobody sets anything else.
        words: for the search of tools: ours, then those of people in alphabets, then others.
    """

    kind: str
    can: tuple[str, ...]
    methods: tuple[DeviceMethod, ...]
    pin: str = "its pin"
    use: str = "gpio"
    lines: tuple[DeviceLine, ...] = ()
    sources: tuple[DeviceLine, ...] = ()
    options: tuple[DeviceOption, ...] = ()
    keys: frozenset[str] = frozenset()
    plain_options: tuple[str, ...] = ()
    is_output: bool = False
    safe: DeviceOption | None = None
    safe_on: int | None = 1
    at_rest: tuple[str, int] | None = None
    is_settable: bool = True
    trial: Mapping[str, str | int] = _NOTHING
    shares_lines: str = ""
    has_driver: bool = True
    is_spacious: bool = False
    is_bulky: bool = False
    refusals: tuple[str, ...] = ()
    counterparts: tuple[Counterpart, ...] = ()
    quantities: Mapping[str, float] = _NOTHING
    words: tuple[tuple[str, str, str], ...] = ()
