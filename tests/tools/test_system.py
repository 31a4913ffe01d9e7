import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Provenance, ToolResult
from agent.tools import system
from agent.tools.base import NoArguments, ToolContext
from agent.tools.system import (
    SystemInfoTool,
    parse_first_number,
    parse_meminfo,
    parse_temperature,
    parse_throttled,
)

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)
# As a Pi Zero 2 W prints them
MEMINFO = """MemTotal:         437100 kB
MemFree:           35216 kB
MemAvailable:     213456 kB
Buffers:           15880 kB
HugePages_Total:       0
"""
LOADAVG = "0.31 0.22 0.14 1/148 2391\n"
UPTIME = "84219.55 330111.02\n"


@pytest.fixture
def pi(tmp_path: Path) -> Path:
    """The kernel's files of a Pi."""
    files = {
        "proc/meminfo": MEMINFO,
        "proc/loadavg": LOADAVG,
        "proc/uptime": UPTIME,
        "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
        "sys/class/thermal/thermal_zone0/temp": "51540\n",
        "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


async def told(root: Path, vcgencmd: Path | None = None) -> dict[str, object]:
    tool = SystemInfoTool(root, root, vcgencmd)
    result = await tool.execute(NoArguments(), CONTEXT)
    assert result.success
    assert result.provenance is None
    fields = json.loads(result.text)
    assert isinstance(fields, dict)
    return fields


def firmware(root: Path, script: str) -> Path:
    """The Pi's program, as a script."""
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev/vcio").touch()
    (root / "sys/devices/platform/soc/soc:firmware/get_throttled").unlink()
    program = root / "vcgencmd"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return program


async def test_a_pi_tells_everything(pi: Path) -> None:
    found = await told(pi)
    disk_free_mb, disk_total_mb = found.pop("disk_free_mb"), found.pop("disk_total_mb")
    assert isinstance(disk_free_mb, int)
    assert isinstance(disk_total_mb, int)
    assert 0 < disk_free_mb <= disk_total_mb
    assert found == {
        "load_1min": 0.31,
        "memory_free_mb": 208,
        "memory_total_mb": 426,
        "temperature_c": 51.5,
        "throttled": [
            "under-voltage now",
            "throttled now",
            "under-voltage since start",
            "throttled since start",
        ],
        "uptime_s": 84219,
    }


async def test_a_machine_without_any_of_it_says_null(tmp_path: Path) -> None:
    found = await told(tmp_path / "nothing")
    assert found.pop("disk_total_mb")
    found.pop("disk_free_mb")
    assert set(found.values()) == {None}


async def test_this_machine_is_read_too() -> None:
    found = await told(Path("/"))
    assert isinstance(found["load_1min"], float)
    assert isinstance(found["memory_total_mb"], int)
    assert isinstance(found["uptime_s"], int)


async def test_the_zone_of_the_processor_goes_first(pi: Path) -> None:
    thermal = pi / "sys/class/thermal"
    (thermal / "thermal_zone0/type").write_text("gpu-thermal")
    (thermal / "thermal_zone1").mkdir()
    (thermal / "thermal_zone1/type").write_text("cpu-thermal")
    (thermal / "thermal_zone1/temp").write_text("42000")
    assert (await told(pi))["temperature_c"] == 42.0
    # One that cannot be read is passed over
    (thermal / "thermal_zone1/temp").unlink()
    assert (await told(pi))["temperature_c"] == 51.5


async def test_the_firmware_is_asked_where_the_kernel_does_not_know(pi: Path) -> None:
    program = firmware(pi, 'test "$1" = get_throttled && echo throttled=0x2')
    assert (await told(pi, program))["throttled"] == ["frequency capped now"]


async def test_without_the_firmwares_device_no_program_is_started(pi: Path) -> None:
    program = firmware(pi, f"touch {pi}/started; echo throttled=0x2")
    (pi / "dev/vcio").unlink()
    assert (await told(pi, program))["throttled"] is None
    assert not (pi / "started").exists()


@pytest.mark.parametrize("script", ["exit 1", "echo VCHI initialization failed", "echo throttled="])
async def test_a_firmware_that_does_not_answer_is_null(pi: Path, script: str) -> None:
    assert (await told(pi, firmware(pi, script)))["throttled"] is None


async def test_a_program_that_cannot_be_started_is_null(pi: Path) -> None:
    program = firmware(pi, "")
    program.chmod(0o600)
    assert (await told(pi, program))["throttled"] is None


async def test_a_firmware_that_hangs_is_stopped(pi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "VCGENCMD_TIMEOUT_S", 0.1)
    began = time.monotonic()
    assert (await told(pi, firmware(pi, "exec sleep 30")))["throttled"] is None
    assert time.monotonic() - began < 5


async def test_a_disk_that_hangs_does_not_hang_the_turn(
    pi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "READ_TIMEOUT_S", 0.05)
    monkeypatch.setattr(system, "_disk_mb", lambda _: (time.sleep(0.3), None))
    result = await SystemInfoTool(pi, pi).execute(NoArguments(), CONTEXT)
    assert result == ToolResult(success=False, text="the device did not tell its state in time")


async def test_a_disk_that_cannot_be_asked_is_null(
    pi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(system.shutil, "disk_usage", fail)
    assert (await told(pi))["disk_free_mb"] is None


def test_memory_of_a_pi() -> None:
    found = parse_meminfo(MEMINFO)
    assert found == {"MemTotal": 426, "MemFree": 34, "MemAvailable": 208, "Buffers": 15}


@pytest.mark.parametrize(
    ("text", "value"),
    [(LOADAVG, 0.31), (UPTIME, 84219.55), ("", None), ("nan", None), ("inf", None), ("x 1", None)],
)
def test_the_first_number(text: str, value: float | None) -> None:
    assert parse_first_number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("51540\n", 51.5), ("-4000", -4.0), ("0", 0.0), ("", None), ("2147483647", None), ("?", None)],
)
def test_temperatures_that_cannot_be_true_are_none(text: str, value: float | None) -> None:
    assert parse_temperature(text) == value


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
def test_no_text_of_the_kernel_breaks_a_parser(text: str) -> None:
    parse_meminfo(text)
    parse_first_number(text)
    parse_temperature(text)
    parse_throttled(text)
