import json
import os
import threading
import time
from pathlib import Path

import pytest

from agent.machine.readings import Readings
from agent.messages import Provenance
from agent.tools import system
from agent.tools.base import NoArguments, ToolContext
from agent.tools.system import SystemInfoTool
from tests.fakes.kernel import a_pi
from tests.fakes.said import tool_result

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)


@pytest.fixture
def pi(tmp_path: Path) -> Path:
    """The kernel's files of a Pi."""
    return a_pi(tmp_path)


async def told(root: Path, vcgencmd: Path | None = None) -> dict[str, object]:
    tool = SystemInfoTool(Readings(root, root), vcgencmd)
    result = await tool.execute(NoArguments(), CONTEXT)
    assert result.success
    assert result.provenance is Provenance.OWNER
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
        "wifi": {"interface": "wlan0", "signal_dbm": -56, "quality_percent": 77},
        "card": {"life_used_percent": 20, "errors": 3},
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

    goes_on = threading.Event()

    def hang(folder: Path) -> os.statvfs_result:
        goes_on.wait()
        return os.statvfs(folder)

    try:
        result = await SystemInfoTool(Readings(pi, pi, hang)).execute(NoArguments(), CONTEXT)
    finally:
        goes_on.set()
    assert result == tool_result(success=False, text="the device did not report its state in time")


async def test_a_disk_that_cannot_be_asked_is_null(pi: Path) -> None:
    def fail(_: Path) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    tool = SystemInfoTool(Readings(pi, pi, fail))
    result = await tool.execute(NoArguments(), CONTEXT)
    assert json.loads(result.text)["disk_free_mb"] is None
