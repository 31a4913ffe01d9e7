"""Several DS18B20 on one line: found by a search, read by their serial numbers."""

import struct
from pathlib import Path
from typing import Any

import pytest

from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import CELSIUS_READ, change, configure
from tests.firmware.conftest import simulated
from tests.firmware.sensing import Sensed, sensed

ONEWIRE_SCAN = 39
LINE: dict[str, Any] = {"name": "line", "kind": "onewire", "pin": "PA15"}
CELLAR: dict[str, Any] = {
    "name": "cellar",
    "kind": "ds18b20",
    "pin": "PA15",
    "serial": 0x0B00_0001,
}
ATTIC: dict[str, Any] = {**CELLAR, "name": "attic", "serial": 0x0B00_0005}


def scanned(line: Sensed, wanted: str) -> str:
    """What a search finds; it is asked until it is that, or the time is over."""
    told = "nothing"

    def holds() -> bool:
        nonlocal told
        try:
            told = line.wire.call(ONEWIRE_SCAN, line.index(0))[1:].decode()
        except Refused as refused:
            told = refused.text
        return told == wanted

    line.until(lambda _answer: holds(), at=1)
    return told


@pytest.fixture(autouse=True)
def _plugged_in(sensor_board: BoardSim) -> None:
    for name in ("cellar", "attic"):
        change(sensor_board, name, absent=False, bad_checksum=False)


def test_a_search_finds_each_of_them_while_they_measure(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, CELSIUS_READ, "h", LINE, CELLAR, ATTIC) as line:
        both = {"28-00000b000001", "28-00000b000005"}
        for wanted in (" ".join(sorted(both)), "28-00000b000005", ""):
            change(sensor_board, "cellar", absent="01" not in wanted[13:15])
            change(sensor_board, "attic", absent="05" not in wanted[-2:])
            assert scanned(line, wanted) == wanted


def test_each_is_read_by_its_number(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, CELSIUS_READ, "h", LINE, CELLAR, ATTIC) as line:
        sensor_board.set(cellar_temperature=-10.5, attic_temperature=40.25)
        line.near(-1050, at=1)
        line.near(4025, at=2)
        change(sensor_board, "cellar", absent=True)
        line.until(lambda answer: isinstance(answer, str), at=1)
        line.near(4025, at=2)
        change(sensor_board, "cellar", absent=False)
        line.near(-1050, at=1)
        change(sensor_board, "attic", bad_checksum=True)
        line.says("the DS18B20's checksum is wrong", at=2)
        line.near(-1050, at=1)


def test_a_ds1822_is_read_by_its_family_and_number(tmp_path: Path) -> None:
    """Its data sheet: family 0x22, and a scratchpad like a DS18B20's."""
    econo = {**CELLAR, "family": 0x22}
    things = [{**ATTIC, "temperature": "attic"}, {**econo, "temperature": "cellar"}]
    with simulated(tmp_path, {"devices": things}) as board:
        board.set(cellar=-10.5, attic=40.25)
        with sensed(board, CELSIUS_READ, "h", LINE, econo, ATTIC) as line:
            wanted = "28-00000b000005 22-00000b000001"
            assert scanned(line, wanted) == wanted
            line.near(-1050, at=1)
            line.near(4025, at=2)


def test_a_line_is_shared_only_with_its_own_sort(wire: Wire) -> None:
    bus = {"name": "bus", "kind": "i2c", "pin": "PA15", "sda": "PA12"}
    for others in ([bus], [{"name": "lamp", "kind": "output", "pin": "PA15"}]):
        with pytest.raises(Refused, match="PA15 is used twice"):
            configure(wire, [CELLAR, *others])


def test_a_serial_number_has_48_bits(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        with pytest.raises(Refused, match="serial is a whole number"):
            configure(wire, [{**CELLAR, "serial": 1 << 48}])
        configure(wire, [{**CELLAR, "serial": (1 << 48) - 1}])
        with pytest.raises(Refused, match=r"first measurement|no DS18B20"):
            wire.call(CELSIUS_READ, struct.pack("<B", 7))
