"""Measures how much memory the firmware takes, in the real MicroPython, and prints one table.

Compiled and from its slot, as on a board, with a heap of 200 KB: words and objects of this computer
are twice as large as those of an STM32, which has 100 KB. Each board is measured after its start;
then what it takes more, for one of them, from one moment to the next.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

from firmware.host import ram
from firmware.host.bundle import board_names
from firmware.host.image import UNCOMPILED
from firmware.host.interpreter import NoInterpreter
from scripts.lib.bench.table import Row, show

_BOARD = "nucleo_f411re"
# With all of it loaded, buffers and answers still need some: 20 KB on the board
_FREE_LEAST_BYTES = 40_000
_MOMENTS = {
    ram.EVENTS: "with an event subscribed to",
    ram.CONFIGURED: "and configured with a BME280",
    ram.UPDATE: "and an update begun",
    ram.REFLEXES: "and a reflex loaded",
}


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether the bar is held."""
    known = [name for name in board_names() if name not in UNCOMPILED]
    parser = argparse.ArgumentParser(
        prog="bench-firmware",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--board", choices=known, default=_BOARD, help="the one for all moments; %(default)s"
    )
    given = parser.parse_args(arguments)
    try:
        measured = {name: ram.measure(name) for name in known}
    except (ram.NotMeasured, NoInterpreter) as err:
        print(f"bench-firmware: {err}", file=sys.stderr)
        return 2
    rows = [_after_boot(found) for found in measured.values()]
    rows += _later(measured[given.board])
    show(rows)
    return 0 if all(row.held for row in rows) else 1


def _after_boot(found: ram.Measured) -> Row:
    taken = found.firmware_bytes(ram.BOOT)
    return Row(
        f"after boot, {found.board}",
        f"< {ram.BAR_BYTES:,} bytes",
        _told(found, ram.BOOT),
        f"{found.moments[ram.BARE].taken:,} the bare interpreter",
        taken < ram.BAR_BYTES,
    )


def _later(found: ram.Measured) -> Iterator[Row]:
    for moment, what in _MOMENTS.items():
        yield Row(
            what,
            f"> {_FREE_LEAST_BYTES:,} free",
            _told(found, moment),
            f"{found.moments[ram.BOOT].free:,} free after boot, {found.board}",
            found.moments[moment].free > _FREE_LEAST_BYTES,
        )


def _told(found: ram.Measured, moment: str) -> str:
    return f"{found.firmware_bytes(moment):,} bytes, {found.moments[moment].free:,} free"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
