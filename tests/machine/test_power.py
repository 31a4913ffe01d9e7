from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.machine.kernel import Kernel
from agent.machine.power import parse_throttled, throttled
from tests.fakes.kernel import write

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"


def driver(root: Path, alarm: str) -> None:
    write(root, "sys/class/hwmon/hwmon0/name", "cpu_thermal\n")
    write(root, "sys/class/hwmon/hwmon1/name", "rpi_volt\n")
    write(root, "sys/class/hwmon/hwmon1/in0_lcrit_alarm", alarm)


def test_a_kernel_without_both_files_tells_nothing(tmp_path: Path) -> None:
    assert throttled(Kernel(tmp_path)) is None


@pytest.mark.parametrize(("alarm", "told"), [("0\n", []), ("1\n", ["under-voltage now"])])
def test_the_alarm_of_the_driver_is_enough(tmp_path: Path, alarm: str, told: list[str]) -> None:
    driver(tmp_path, alarm)
    assert throttled(Kernel(tmp_path)) == told


def test_what_both_say_is_said_once(tmp_path: Path) -> None:
    driver(tmp_path, "1\n")
    write(tmp_path, FIRMWARE, "50001\n")
    assert throttled(Kernel(tmp_path)) == [
        "under-voltage now",
        "under-voltage since start",
        "throttled since start",
    ]


def test_the_driver_sees_what_the_firmware_has_forgotten(tmp_path: Path) -> None:
    driver(tmp_path, "1\n")
    write(tmp_path, FIRMWARE, "0\n")
    assert throttled(Kernel(tmp_path)) == ["under-voltage now"]


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("0", []),
        ("0x0\n", []),
        ("0x1", ["under-voltage now"]),
        ("80008", ["soft temperature limit now", "soft temperature limit since start"]),
        ("", None),
        ("error=1 error_msg=x", None),
    ],
)
def test_throttling_bits_have_words(text: str, meanings: list[str] | None) -> None:
    assert parse_throttled(text) == meanings


@given(st.text(max_size=80))
def test_no_text_breaks_the_parser(text: str) -> None:
    parse_throttled(text)
