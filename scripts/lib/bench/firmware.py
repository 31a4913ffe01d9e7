"""Measures how much memory the firmware takes, in the real MicroPython, and prints one table.

Compiled and from its slot, and frozen in, with words of 32 bits, as on a board. Each board is
measured after its start; then, for one of them, what it takes from one moment to the next, and what
is left.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from agent.blank.board_state import HEAP_LEAST_BYTES, SlotPlace
from firmware.host import power_cuts, ram
from firmware.host.bundle import board_file, board_names
from firmware.host.image import UNCOMPILED
from firmware.host.interpreter import NoInterpreter
from firmware.host.parts import PARTS
from firmware.host.wire import Silence
from scripts.lib.bench import board_cuts
from scripts.lib.bench.table import Row, show

_BOARD = "nucleo_f411re"
# In one piece
_FREE_LEAST_BYTES = 36_000
# Boards with room for a second version, and each of how many operations of an update is cut. With
# every commit and stop of all boards, every division of their flash, and every first start of those
# that have the firmware frozen in, these are more than 2,000 cuts.
_UPDATED = {"nucleo_wb55": 5, "pyboard_v11": 1}
_FROZEN = ("nucleo_f401re", "nucleo_f411re", "pyboard_v11", "nucleo_wb55")
_MOMENTS = {
    ram.EVENTS: "with an event subscribed to",
    ram.PINS: f"and {ram.PINS_CONFIGURED} pins configured",
    ram.REFLEXES: f"and {ram.RULES} reflexes loaded",
}
# Beyond what the bar is for: it has to work
_BEYOND = {
    ram.DRIVER: f"and one pin a {ram.largest_driver(_BOARD).kind.upper()}, the longest driver",
    ram.UPDATE: "and an update begun",
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
    parser.add_argument(
        "--cuts",
        action="store_true",
        help="cut the power in every operation of each board's flash instead",
    )
    parser.add_argument(
        "--played",
        type=int,
        metavar="N",
        help="cut the power N times in each thing that each played board writes instead",
    )
    given = parser.parse_args(arguments)
    try:
        if given.cuts:
            return _show(_cuts())
        if given.played:
            return _show(list(_played(given.played)))
        measured = {name: ram.measure(name) for name in known}
        frozen = {name: ram.measure(name, is_frozen=True) for name in known}
    except (ram.NotMeasured, power_cuts.NotTried, Silence, NoInterpreter) as err:
        print(f"bench-firmware: {err}", file=sys.stderr)
        return 2
    rows = [_after_boot(found) for found in (*measured.values(), *frozen.values())]
    rows += _later(measured[given.board], {**_MOMENTS, **_BEYOND})
    rows += _later(frozen[given.board], _MOMENTS)
    return _show(rows)


def _show(rows: Sequence[Row]) -> int:
    show(rows)
    return 0 if all(row.held for row in rows) else 1


def _cuts() -> list[Row]:
    """Return a row for each board that keeps anything, and each thing that it writes."""
    names = [name for name in PARTS if board_file(name).FLASH_CLASS]
    found = [("", cut) for name in names for cut in power_cuts.trials(name, ("commit", "stop"))]
    divided = [name for name in names if PARTS[name].slots is not SlotPlace.FILES]
    for name in divided:
        found += [("", cut) for cut in power_cuts.trials(name, power_cuts.FORMATS)]
    for name, every in _UPDATED.items():
        found += [("", cut) for cut in power_cuts.trials(name, ("update",), every)]
    for name in _FROZEN:
        tried = power_cuts.trials(name, power_cuts.FROZEN_ACTIONS, is_frozen=True)
        found += [(", frozen", cut) for cut in tried]
    return [_cut(cut, way) for way, cut in found]


def _played(cuts: int) -> Iterator[Row]:
    """Yield a row for each played board, each thing that it writes, and each time of its flash."""
    for name in (name for name in PARTS if board_file(name).FLASH_CLASS):
        # One with so little memory carries the firmware only so
        is_frozen = PARTS[name].heap_bytes < HEAP_LEAST_BYTES
        actions = ("commit", "stop", *(("update",) if name in _UPDATED else ()))
        for times in board_cuts.TIMES:
            for tried in board_cuts.attempts(name, actions, times, cuts, is_frozen=is_frozen):
                yield board_cuts.row(tried, ", frozen" if is_frozen else "")


def _cut(found: power_cuts.Cuts, way: str) -> Row:
    is_small = found.action in {"commit", "stop"}
    what, has = {
        "commit": ("a configuration", found.configured),
        "update": ("the configuration", found.configuration_old),
    }.get(found.action, ("the stop", found.stopped))
    return Row(
        f"{found.action} on {found.board}{way}",
        "<= 1 erase, every cut" if is_small else "every cut",
        f"{found.erases} erases; of {found.cuts} cuts it starts after {found.starts}, "
        f"has {what} after {has}",
        f"{found.operations} operations",
        (found.erases <= 1 or not is_small) and found.starts == found.cuts == has,
    )


def _after_boot(found: ram.Measured) -> Row:
    taken = found.firmware_bytes(ram.BOOT)
    return Row(
        f"after boot, {found.board}{_way(found)}",
        f"< {ram.BAR_BYTES:,} bytes",
        f"{taken:,} bytes, {_left(found, ram.BOOT):,} free",
        f"{found.moments[ram.BARE].taken:,} the bare interpreter",
        taken < ram.BAR_BYTES,
    )


def _way(found: ram.Measured) -> str:
    return ", frozen" if found.is_frozen else ""


def _later(found: ram.Measured, moments: Mapping[str, str]) -> Iterator[Row]:
    in_reach = dict.fromkeys(_MOMENTS, _FREE_LEAST_BYTES)
    for moment, what in moments.items():
        piece = found.piece_bytes(moment)
        least = in_reach.get(moment, 0)
        yield Row(
            what + _way(found),
            f"> {least:,} in one piece" if least else "there is room",
            f"{found.firmware_bytes(moment):,} bytes, {_left(found, moment):,} free,"
            f" {piece:,} in one piece",
            f"{found.piece_bytes(ram.BOOT):,} in one piece after boot, {found.board}",
            piece > least,
        )


def _left(found: ram.Measured, moment: str) -> int:
    """Return the bytes that are left of the board's heap."""
    bare = found.moments[ram.BARE].taken
    return PARTS[found.board].heap_bytes - bare - found.firmware_bytes(moment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
