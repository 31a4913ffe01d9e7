"""Makes the module `kinds` that goes onto the board: the table in agent/link/devices, and which
pin may be used for what.

One text and not a structure: MicroPython keeps the names of a structure in memory for ever, and the
text goes when a configuration has been judged. A line has, between spaces: the kind; what its pin
must be able to do; `o` for an output, `s` for lines of I2C and `w` for one of 1-Wire, which
may be shared; what a plain pin can do,
or `-` for a kind with a driver; then its options. `name:lowest:highest:default` is a whole number,
`name:` a pin that it needs, `name?` one that it may have, `name@` another entry that it reads, and
a bare name is judged as for every kind.
"""

from collections.abc import Mapping, Sequence

from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import ROWS


def source(rows: Sequence[DeviceRow] = ROWS, usable: Mapping[str, str] | None = None) -> str:
    """Return the text of the module, for these kinds and the pins that are there by their use."""
    # Each line between two ends of lines, so that a kind is found with one look
    text = "\n" + "".join(f"{_line(row)}\n" for row in rows)
    return (
        "# Made by firmware/host/kind_source.py; not to be edited.\n"
        f"ROWS = {text!r}\n"
        "# By use: the pins that a configuration may have for it, between spaces\n"
        f"USABLE = {dict(usable or {})!r}\n"
    )


def _line(row: DeviceRow) -> str:
    flags = "o" * row.is_output + row.shares_lines
    can = "-" if row.has_driver else ",".join(sorted(row.can))
    numbers = (*row.options, *((row.safe,) if row.safe else ()))
    words = [f"{line.name}{'?' if line.is_optional else ':'}" for line in row.lines]
    words += [f"{source.name}@" for source in row.sources]
    words += [f"{one.name}:{one.lowest}:{one.highest}:{one.default}" for one in numbers]
    return " ".join([row.kind, row.use, flags or "-", can, *words, *row.plain_options])
