from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.machine.computer import parse_meminfo, parse_temperature
from agent.machine.readings import Readings
from tests.fakes.kernel import a_pi, write


def test_a_pi_tells_load_memory_temperature_and_uptime(tmp_path: Path) -> None:
    readings = Readings(tmp_path, a_pi(tmp_path))
    assert readings.load_1min() == 0.31
    assert readings.uptime_s() == 84219
    assert readings.temperature_c() == 51.5
    assert readings.memory_mb() == {
        "MemTotal": 426,
        "MemFree": 34,
        "MemAvailable": 208,
        "Buffers": 15,
    }


def test_the_zone_of_the_processor_goes_first(tmp_path: Path) -> None:
    readings = Readings(tmp_path, a_pi(tmp_path))
    write(tmp_path, "sys/class/thermal/thermal_zone0/type", "gpu-thermal")
    write(tmp_path, "sys/class/thermal/thermal_zone1/type", "cpu-thermal")
    write(tmp_path, "sys/class/thermal/thermal_zone1/temp", "42000")
    assert readings.temperature_c() == 42.0
    # One that cannot be read is passed over
    (tmp_path / "sys/class/thermal/thermal_zone1/temp").unlink()
    assert readings.temperature_c() == 51.5


@pytest.mark.parametrize(
    ("text", "value"),
    [("51540\n", 51.5), ("-4000", -4.0), ("0", 0.0), ("", None), ("2147483647", None), ("?", None)],
)
def test_temperatures_that_cannot_be_true_are_none(text: str, value: float | None) -> None:
    assert parse_temperature(text) == value


@given(st.text(max_size=80))
def test_no_text_of_the_kernel_breaks_a_parser(text: str) -> None:
    parse_meminfo(text)
    parse_temperature(text)
