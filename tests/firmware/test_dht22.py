"""The bytes of a DHT22, whatever year it was built in."""

from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module

ZERO_US, ONE_US = 26, 70


def heard(dht22: Any, humidity: int, temperature: int) -> Any:
    """A sensor whose line had the pulses of those words, and their checksum."""
    data = (humidity << 16 | temperature).to_bytes(4, "big")
    word = int.from_bytes(data, "big") << 8 | sum(data) & 0xFF
    sensor = dht22.Dht22.__new__(dht22.Dht22)
    sensor._pulses = [ONE_US if word >> 39 - bit & 1 else ZERO_US for bit in range(40)]
    return sensor


@pytest.mark.parametrize(
    ("humidity", "temperature", "tenths"),
    [
        # Sign and number, as in the data sheet
        (0x028C, 0x015F, 351),
        (0x028C, 0x8065, -101),
        (0x01F3, 0x8000, 0),
        # The complement of two
        (0x01F5, 0xFFFF, -1),
        (0x0211, 0xFFF1, -15),
        (0x0200, 0xFE70, -400),
    ],
)
def test_frost_is_understood_in_both_ways_of_writing_it(
    humidity: int, temperature: int, tenths: int
) -> None:
    with node_module("devices.dht22") as dht22:
        sensor = heard(dht22, humidity, temperature)
        assert sensor._understand(0) is None
        assert (sensor._tenths, sensor._humidity_tenths) == (tenths, humidity)


@pytest.mark.parametrize("temperature", [0x04E3, 0x84E3, 0xC000])
def test_what_no_air_has_is_refused(temperature: int) -> None:
    with node_module("devices.dht22") as dht22:
        assert heard(dht22, 0x028C, temperature)._understand(0) == "the DHT22 says what cannot be"
