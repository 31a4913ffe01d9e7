"""How the device itself is: load, memory, disk, temperature, throttling, uptime.

Read from the kernel's files; what a machine does not have is null, never a guess.
"""

import asyncio
import math
import shutil
from pathlib import Path

import msgspec

from agent.messages import Effect, ToolResult
from agent.tools.base import NoArguments, Tool, ToolContext

# Files of the kernel answer at once; a disk that hangs does not
READ_TIMEOUT_S = 5.0
# Asking the Pi's firmware takes milliseconds
VCGENCMD_TIMEOUT_S = 2.0
# Files of the kernel are short; one that is not is not what was meant
_MAX_KERNEL_FILE_BYTES = 16 * 1024
_KB_PER_MB = 1024
_BYTES_PER_MB = 1024 * 1024
_MAX_SANE_C = 200.0
# The device through which the Pi's firmware is asked: without it there is nothing to ask
_FIRMWARE_DEVICE = Path("dev/vcio")
_PROGRAM_FOLDERS = "/usr/bin:/usr/local/bin:/opt/vc/bin"
# Bits of the firmware's answer, now and (16 bits higher) since the last start
_THROTTLE_BITS = {
    0: "under-voltage now",
    1: "frequency capped now",
    2: "throttled now",
    3: "soft temperature limit now",
    16: "under-voltage since start",
    17: "frequency capped since start",
    18: "throttled since start",
    19: "soft temperature limit since start",
}


class SystemInfoTool(Tool[NoArguments]):
    """Reads the state of the device.

    Args:
        folder: on the disk whose room is told.
        root: where `proc`, `sys` and `dev` are.
        vcgencmd: the Pi's program for asking its firmware; found by itself if not given.
    """

    name = "system_info"
    description = (
        "Load, free memory and disk, processor temperature, throttling and uptime of this device."
    )
    effect = Effect.READ
    arguments_type = NoArguments

    def __init__(self, folder: Path, root: Path = Path("/"), vcgencmd: Path | None = None) -> None:
        self._folder = folder
        self._root = root
        self._vcgencmd = vcgencmd

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                told = await asyncio.to_thread(self._read)
        except TimeoutError:
            return ToolResult(success=False, text="the device did not tell its state in time")
        if told["throttled"] is None:
            told["throttled"] = await self._ask_firmware()
        return ToolResult(success=True, text=msgspec.json.encode(told).decode())

    def _read(self) -> dict[str, object]:
        memory_mb = parse_meminfo(self._text("proc/meminfo"))
        free_mb, total_mb = _disk_mb(self._folder)
        return {
            "load_1min": parse_first_number(self._text("proc/loadavg")),
            "memory_free_mb": memory_mb.get("MemAvailable"),
            "memory_total_mb": memory_mb.get("MemTotal"),
            "disk_free_mb": free_mb,
            "disk_total_mb": total_mb,
            "temperature_c": self._temperature_c(),
            "throttled": parse_throttled(
                self._text("sys/devices/platform/soc/soc:firmware/get_throttled")
            ),
            "uptime_s": _whole(parse_first_number(self._text("proc/uptime"))),
        }

    def _temperature_c(self) -> float | None:
        zones = sorted((self._root / "sys/class/thermal").glob("thermal_zone*"))
        # On most machines the first zone is the processor; where a type says so, it is that one
        zones.sort(key=lambda zone: "cpu" not in self._text(str(zone / "type")))
        found = (parse_temperature(self._text(str(zone / "temp"))) for zone in zones)
        return next((value for value in found if value is not None), None)

    async def _ask_firmware(self) -> list[str] | None:
        program = self._vcgencmd or shutil.which("vcgencmd", path=_PROGRAM_FOLDERS)
        if program is None or not (self._root / _FIRMWARE_DEVICE).exists():
            return None
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                "get_throttled",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
            )
        except OSError:
            return None
        try:
            async with asyncio.timeout(VCGENCMD_TIMEOUT_S):
                said, _ = await process.communicate()
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return parse_throttled(said.decode(errors="replace").removeprefix("throttled="))

    def _text(self, path: str) -> str:
        try:
            with (self._root / path).open("rb") as file:
                return file.read(_MAX_KERNEL_FILE_BYTES).decode(errors="replace")
        except OSError:
            return ""


def parse_meminfo(text: str) -> dict[str, int]:
    """Megabytes by name, of the lines that are given in kB."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if unit == "kB" and number.isdecimal():
            found[name] = int(number) // _KB_PER_MB
    return found


def parse_first_number(text: str) -> float | None:
    """The number that a text begins with, as in `/proc/loadavg` and `/proc/uptime`."""
    try:
        value = float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None
    return value if math.isfinite(value) else None


def parse_temperature(text: str) -> float | None:
    """Degrees from the thousandths that the kernel gives; None where they cannot be true."""
    value = parse_first_number(text)
    if value is None or not abs(value) <= 1000 * _MAX_SANE_C:
        return None
    return round(value / 1000, 1)


def parse_throttled(text: str) -> list[str] | None:
    """What the firmware's bits say, such as `0x50005`; empty if all is well."""
    try:
        bits = int(text.strip(), 16)
    except ValueError:
        return None
    return [meaning for bit, meaning in _THROTTLE_BITS.items() if bits >> bit & 1]


def _disk_mb(folder: Path) -> tuple[int | None, int | None]:
    try:
        # A folder that is not there yet will be on the disk of the one above it
        usage = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists()))
    except OSError:
        return None, None
    return usage.free // _BYTES_PER_MB, usage.total // _BYTES_PER_MB


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
