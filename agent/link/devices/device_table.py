"""Table of device kinds, and what is looked up in it."""

from collections.abc import Iterator, Sequence

from agent.link.devices.actuators import ACTUATORS, DRIVEN
from agent.link.devices.bus_outputs import BUS_OUTPUTS
from agent.link.devices.buses import BUSES
from agent.link.devices.device_row import DeviceField, DeviceMethod, DeviceOption, DeviceRow
from agent.link.devices.sensors import I2C_SENSORS, SENSORS
from agent.link.devices.signals import SIGNALS

_LEVEL = DeviceField("value", "B", choices=("off", "on"))

_GPIO_READ = DeviceMethod(
    17,
    "gpio_read",
    "Read whether a pin is on or off.",
    (DeviceField("pin", "B", pins="in"),),
    (_LEVEL,),
    safety="read",
    idempotent=True,
)

PLAIN_PINS = (
    DeviceRow(
        kind="output",
        can=("out", "in"),
        pin="output",
        methods=(
            DeviceMethod(
                16,
                "gpio_write",
                "Switch an output on or off. It returns to its safe value when nobody renews it.",
                (DeviceField("pin", "B", pins="out"), _LEVEL),
                (_LEVEL,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
            _GPIO_READ,
        ),
        keys=frozenset({"active", "opens"}),
        plain_options=("floating",),
        is_output=True,
        safe=DeviceOption("safe", 0, 1, 0),
        trial={"value": "on"},
        has_driver=False,
    ),
    DeviceRow(
        kind="input",
        can=("in",),
        pin="input",
        methods=(_GPIO_READ,),
        keys=frozenset({"active", "pull", "debounce_ms"}),
        plain_options=("pull", "debounce_ms"),
        has_driver=False,
    ),
    DeviceRow(
        kind="analog",
        can=("adc",),
        pin="input of the converter",
        use="adc",
        methods=(
            DeviceMethod(
                18,
                "adc_read",
                "Measure the voltage at an analog pin.",
                (DeviceField("pin", "B", pins="adc"),),
                (DeviceField("value", "H", minimum=0, maximum=3.3, unit="V", scale=0.001),),
                safety="read",
                idempotent=True,
            ),
        ),
        has_driver=False,
    ),
)


BOARD_METHODS = (
    DeviceMethod(
        19,
        "mcu_temperature",
        "Measure the temperature of the board's microcontroller.",
        (),
        (DeviceField("value", "h", minimum=-40, maximum=125, unit="°C", scale=0.1),),
        safety="read",
        idempotent=True,
    ),
    DeviceMethod(
        34,
        "supply_read",
        "Measure the supply voltage of the board's microcontroller.",
        (),
        (DeviceField("value", "H", minimum=1.5, maximum=4, unit="V", scale=0.001),),
        safety="read",
        idempotent=True,
    ),
)


ROWS: tuple[DeviceRow, ...] = (
    *PLAIN_PINS,
    *ACTUATORS,
    *DRIVEN,
    *BUS_OUTPUTS,
    *SENSORS,
    *I2C_SENSORS,
    *SIGNALS,
    *BUSES,
)
BY_KIND = {row.kind: row for row in ROWS}
KINDS = tuple(BY_KIND)
OUTPUT_KINDS = tuple(row.kind for row in ROWS if row.is_output)
# Names of the further pins that any kind has
LINES = tuple(dict.fromkeys(line.name for row in ROWS for line in row.lines))

# Names of the keys under which any kind names another entry
SOURCES = tuple(dict.fromkeys(source.name for row in ROWS for source in row.sources))


def methods() -> tuple[DeviceMethod, ...]:
    """Return every method that our firmware knows, each once, by its number."""
    numbered = {method.id: method for row in ROWS for method in row.methods}
    numbered |= {method.id: method for method in BOARD_METHODS}
    return tuple(numbered[number] for number in sorted(numbered))


def rows_of(*, is_small: bool, is_middling: bool) -> tuple[DeviceRow, ...]:
    """Return the kinds for which a board's files have room."""
    fit = (row for row in ROWS if not (is_small and row.is_spacious))
    return tuple(row for row in fit if not (is_middling and row.is_bulky))


def device_methods(rows: Sequence[DeviceRow] = ROWS) -> bytes:
    """Return the numbers of the methods that a driver of these kinds answers."""
    return bytes(sorted({one.id for row in rows if row.has_driver for one in row.methods}))


def by_capability() -> dict[str, DeviceRow]:
    """Return the outputs by what the write method asks of their pin."""
    return {
        method.arguments[0].pins: row
        for row in ROWS
        for method in row.methods
        if method.lease and method.arguments
    }


def limits() -> tuple[DeviceOption, ...]:
    """Return the options of devices that are limits of what an output may do, each once."""
    found = {option.name: option for row in ROWS for option in row.options if option.is_limit}
    return tuple(found.values())


def of_each_kind() -> tuple[str, ...]:
    """Return the names of the options that are compared with each kind's default, each once."""
    options = (option for row in ROWS for option in row.options)
    found = (option.name for option in options if option.is_wiring or option.is_rest)
    return tuple(dict.fromkeys(found))


def options() -> Iterator[tuple[str, tuple[DeviceOption, ...]]]:
    """Yield each key of the settings with the options that it stands for, of whatever kinds."""
    found: dict[str, list[DeviceOption]] = {}
    for row in ROWS:
        for option in row.options:
            found.setdefault(option.settings_key, []).append(option)
    for key, same in found.items():
        yield key, tuple(same)
