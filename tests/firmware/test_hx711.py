"""A load cell: its driver in the real interpreter, and a part that behaves or does not."""

from typing import Any

import pytest

from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change, configure
from tests.firmware.sensing import sensed

WEIGHT_READ = 52
# Calibrated as the simulated cell is
CELL: dict[str, Any] = {
    "name": "cell",
    "kind": "hx711",
    "pin": "PB3",
    "data": "PB4",
    "zero": 8_000,
    "per_kg": 420_000,
}


@pytest.mark.parametrize(("grams", "counts"), [(0, 8_000), (250, 113_000), (-100, -34_000)])
def test_a_load_is_told_in_grams_and_in_counts(
    sensor_board: BoardSim, grams: int, counts: int
) -> None:
    sensor_board.set(load=grams)
    with sensed(sensor_board, WEIGHT_READ, "ii", CELL) as cell:
        cell.near(counts, grams * 10)


def test_one_that_is_not_calibrated_only_counts(sensor_board: BoardSim) -> None:
    sensor_board.set(load=1000)
    entry = {**CELL, "zero": 0, "per_kg": 0}
    with sensed(sensor_board, WEIGHT_READ, "ii", entry) as cell:
        cell.near(428_000)


def test_a_cell_that_is_mounted_the_other_way_around(sensor_board: BoardSim) -> None:
    sensor_board.set(load=-500)
    with sensed(sensor_board, WEIGHT_READ, "ii", {**CELL, "per_kg": -420_000}) as cell:
        cell.near(-202_000, 5_000)


def test_a_bit_that_falls_over_changes_nothing(sensor_board: BoardSim) -> None:
    sensor_board.set(load=250)
    change(sensor_board, "hx711", glitches=4)
    with sensed(sensor_board, WEIGHT_READ, "ii", CELL) as cell:
        cell.near(113_000, 2500)
        for _ in range(20):
            assert cell.ask() == (113_000, 2500)
            cell.wire.rest(0.05)
    change(sensor_board, "hx711", glitches=0)


def test_a_cell_that_is_pulled_out_shorted_or_overloaded_is_told(sensor_board: BoardSim) -> None:
    sensor_board.set(load=250)
    with sensed(sensor_board, WEIGHT_READ, "ii", CELL) as cell:
        cell.near(113_000, 2500)
        change(sensor_board, "hx711", absent=True)
        cell.says("no HX711 answers")
        change(sensor_board, "hx711", absent=False)
        cell.near(113_000, 2500)
        change(sensor_board, "hx711", shorted=True)
        cell.says("the data line of the HX711 stays low")
        change(sensor_board, "hx711", shorted=False)
        cell.near(113_000, 2500)
        sensor_board.set(load=25_000)
        cell.says("the load is beyond what the HX711 measures")
        sensor_board.set(load=-25_000)
        cell.says("the load is beyond what the HX711 measures")
        sensor_board.set(load=250)
        cell.near(113_000, 2500)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gain": 33}, "gain is 32, 64 or 128"),
        ({"data": ""}, "data names a pin"),
        ({"zero": 8_388_608}, "zero is a whole number, -8388608 to 8388607"),
    ],
)
def test_options_of_a_cell_that_make_no_sense_are_refused_by_name(
    wire: Wire, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        configure(wire, [{**CELL, **options}])
    assert said in refused.value.text
