"""The table of device kinds: what is on the wire stays, and each row has its driver."""

import ast
import hashlib
import json
import keyword
from pathlib import Path

import pytest

from agent.link.devices import device_table
from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import KINDS, ROWS
from agent.link.manifest import Manifest, read_manifest
from firmware.host import describe
from firmware.host.bundle import FIRMWARE, board_file, board_names

DRIVEN = [row for row in ROWS if row.has_driver]
# Boards and agents of other versions know a method by its number, and its bytes by these formats
WIRE = {
    16: ("gpio_write", "BB", "B"),
    17: ("gpio_read", "B", "B"),
    18: ("adc_read", "B", "H"),
    19: ("mcu_temperature", "", "h"),
    20: ("pwm_write", "BHH", "HH"),
    21: ("servo_write", "Bh", "h"),
    22: ("counter_read", "B", "II"),
    23: ("counter_reset", "B", "II"),
    24: ("encoder_read", "B", "i"),
    25: ("celsius_read", "B", "h"),
    26: ("climate_read", "B", "hHI"),
    27: ("pixels_write", "BBBBBB", "B"),
    28: ("i2c_scan", "B", "s"),
    29: ("i2c_read", "BBhB", "s"),
    30: ("i2c_write", "BBs", "B"),
    31: ("spi_transfer", "Bs", "s"),
    32: ("uart_write", "Bs", "B"),
    33: ("uart_read", "B", "Is"),
    34: ("supply_read", "", "H"),
    35: ("distance_read", "B", "BH"),
    36: ("power_read", "B", "Hii"),
    37: ("voltage_read", "B", "i"),
    38: ("air_read", "B", "HhH"),
    39: ("onewire_scan", "B", "s"),
    40: ("thermostat_write", "BH", "BH"),
    41: ("thermostat_read", "B", "BH"),
    42: ("motor_write", "Bh", "h"),
    43: ("tone_write", "BH", "H"),
    44: ("display_write", "BBs", "s"),
    45: ("stepper_move", "Bi", "BBBi"),
    46: ("stepper_home", "B", "BBBi"),
    47: ("stepper_release", "B", "BBBi"),
    48: ("stepper_read", "B", "BBBi"),
    49: ("channel_write", "BH", "H"),
    50: ("expander_write", "BB", "B"),
    51: ("expander_read", "B", "B"),
    52: ("weight_read", "B", "ii"),
    53: ("infrared_read", "B", "IIHBHI"),
    54: ("dac_write", "BH", "H"),
}
# Of the methods 16 to 34 in the manifest of a board with all of them, as they were sent before
# there was a table
EARLIER_METHODS = "5e8240ba74eb6da40fbd466783c65c16997dd7e64fe635faae5c2286d9c931c9"


def by_ast(row: DeviceRow) -> ast.Module:
    return ast.parse((FIRMWARE / "node" / "devices" / f"{row.kind}.py").read_text())


def read(board: str) -> Manifest:
    return read_manifest(json.dumps(describe.manifest(board_file(board))).encode())


def test_numbers_names_and_formats_on_the_wire_are_what_they_were() -> None:
    found = {
        method.id: (
            method.name,
            "".join(field.format for field in method.arguments),
            "".join(field.format for field in method.result),
        )
        for method in device_table.methods()
    }
    assert {number: found[number] for number in WIRE} == WIRE


def test_the_manifest_has_earlier_methods_byte_for_byte() -> None:
    methods = [method for method in describe.METHODS if method["id"] <= 34]
    text = json.dumps(methods, ensure_ascii=False, separators=(",", ":")).encode()
    assert hashlib.sha256(text).hexdigest() == EARLIER_METHODS


def test_no_two_methods_share_a_number_or_a_name() -> None:
    methods = {id(method): method for row in ROWS for method in row.methods}.values()
    assert len({method.id for method in methods}) == len(methods)
    assert len({method.name for method in methods}) == len(methods)


@pytest.mark.parametrize("board", board_names())
def test_what_a_board_says_is_read_as_the_table_has_it(board: str) -> None:
    told = {method.id: method for method in read(board).methods}
    rows = {method.id: method for method in device_table.methods()}
    assert told.keys() <= rows.keys()
    for number, method in told.items():
        for side in ("arguments", "result"):
            for read_field, own in zip(
                getattr(method, side), getattr(rows[number], side), strict=True
            ):
                assert all(getattr(read_field, name) == getattr(own, name) for name in own._fields)


@pytest.mark.parametrize("row", DRIVEN, ids=lambda row: row.kind)
def test_a_driver_has_the_class_and_answers_the_methods_of_its_row(row: DeviceRow) -> None:
    tree = by_ast(row)
    numbers = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    (driver,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == row.kind.capitalize()
    )
    (handlers,) = (node for node in driver.body if getattr(node, "name", "") == "handlers")
    (answered,) = (node for node in ast.walk(handlers) if isinstance(node, ast.Dict))
    assert [numbers[ast.unparse(key)] for key in answered.keys if key] == [
        method.id for method in row.methods
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_row_makes_sense_by_itself(row: DeviceRow) -> None:
    assert row.kind.isidentifier()
    assert not keyword.iskeyword(row.kind)
    assert row.methods
    assert row.can
    for option in (*row.options, *((row.safe,) if row.safe else ())):
        assert option.lowest <= option.default <= option.highest, option.name
        assert option.lowest % option.scale == option.highest % option.scale == 0, option.name
    pins = {field.pins for method in row.methods for field in method.arguments if field.pins}
    assert pins <= set(row.can)
    assert row.is_output == any(method.lease for method in row.methods) == (row.safe is not None)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_what_hangs_on_the_simulated_board_is_there(row: DeviceRow) -> None:
    for thing in row.counterparts:
        assert (Path(FIRMWARE) / "simulator" / "attached" / f"{thing.kind}.py").is_file()


def test_a_kind_has_one_row() -> None:
    assert len(set(KINDS)) == len(KINDS) == len(ROWS)
