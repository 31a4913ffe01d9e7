"""The guide of the firmware lists the device kinds as the table has them."""

from pathlib import Path

import pytest

from agent.link.devices.device_row import DeviceLine, DeviceOption, DeviceRow
from agent.link.devices.device_table import ROWS
from firmware.host.bundle import FIRMWARE

GUIDE = (Path(FIRMWARE) / "README.md").read_text(encoding="utf-8").splitlines()


def described(option: DeviceOption) -> str:
    unit = f" {option.unit}" if option.unit else ""
    return f"`{option.name}` {option.lowest}-{option.highest}{unit} ({option.default})"


def named(line: DeviceLine) -> str:
    return f"`{line.name}`: {line.about}{' (optional)' if line.is_optional else ''}"


def line_of(row: DeviceRow) -> str:
    further = (*row.lines, *row.sources)
    pins = [row.pin, *map(named, further)]
    numbers = (*row.options, *((row.safe,) if row.safe else ()))
    options = [*map(described, numbers), *(f"`{name}`" for name in row.plain_options)]
    calls = ", ".join(f"`{method.name}`" for method in row.methods)
    cells = [f"`{row.kind}`", "; ".join(pins), ", ".join(options), f"`{row.can[0]}`", calls]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


@pytest.mark.parametrize("row", [row for row in ROWS if row.has_driver], ids=lambda row: row.kind)
def test_each_kind_is_in_the_guide_as_its_row_has_it(row: DeviceRow) -> None:
    assert line_of(row) in GUIDE
