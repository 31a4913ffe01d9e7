"""A DS18B20 at 85 degrees: measured, or what stands there before anything was measured."""

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from agent.link import frame
from tests.firmware.node_on_cpython import node_module

RAW_85 = 0x0550


class Pin:
    OPEN_DRAIN, PULL_UP = range(2)

    def __init__(self, *_: Any) -> None:
        pass


def told(raw: int, sixth: int, fineness: int = 0x7F) -> Any:
    """What its driver makes of a scratchpad with that temperature, sixth byte and fineness."""
    stand_ins: dict[str, Any] = {
        "machine": SimpleNamespace(Pin=Pin),
        "_onewire": SimpleNamespace(crc8=lambda _data: 0),
    }
    with node_module("devices.ds18b20", **stand_ins) as module:
        driver = module.Ds18b20({"pin": "PB12", "family": 0x28, "serial": 0})
        rest = (0x4B, 0x46, fineness, 0xFF, sixth, 0x10, 0)
        driver._scratchpad[:] = struct.pack("<h7B", raw, *rest)
        driver._judge()
        try:
            return driver.value()
        except module.Refusal as refusal:
            return refusal.code, refusal.text


def test_85_degrees_are_told_where_they_were_measured() -> None:
    assert told(RAW_85, 0x10) == 8_500


# Clones leave that byte alone: nobody can tell what it is that they say
@pytest.mark.parametrize("sixth", [0x0C, 0xFF, 0x00])
def test_85_degrees_that_may_be_none_are_refused(sixth: int) -> None:
    code, text = told(RAW_85, sixth)
    assert (code, "lost or lacks power" in text) == (frame.IO, True)


@pytest.mark.parametrize("raw", [RAW_85 - 1, RAW_85 + 1])
def test_next_to_it_there_is_no_doubt(raw: int) -> None:
    assert told(raw, 0x0C) == (raw * 25 + 2) // 4


@pytest.mark.parametrize("raw", [0x07FF, 125 * 16 + 1])
def test_what_it_cannot_measure_is_refused(raw: int) -> None:
    code, text = told(raw, 0x10)
    assert (code, "lost or lacks power" in text) == (frame.IO, True)


@pytest.mark.parametrize("raw", [125 * 16, -55 * 16])
def test_the_ends_of_its_range_are_measured(raw: int) -> None:
    assert told(raw, 0x10) == raw // 16 * 100


def test_a_ds18s20_is_refused_and_not_read_as_an_eighth() -> None:
    """Its data sheet: 25 degrees are 0x0032, and the fifth byte is 0xFF."""
    assert told(0x0032, 0x0C, fineness=0xFF) == (frame.IO, "it is no DS18B20")


@pytest.mark.parametrize("fineness", [0x1F, 0x3F, 0x5F])
def test_a_coarse_one_is_read(fineness: int) -> None:
    assert told(25 * 16, 0x0C, fineness) == 2_500
