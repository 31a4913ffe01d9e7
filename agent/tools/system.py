"""Tools that report the state of the device, and its date and time.

The state is read from the kernel's files; a missing value is null, never a guess.
"""

import asyncio
import shutil
from datetime import datetime, tzinfo
from pathlib import Path

from agent.machine.power import parse_throttled
from agent.machine.readings import Readings
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Passage, Provenance, configured, fields, own
from agent.security.shares import NOTHING_PRIVATE, households
from agent.system.clock import Clock
from agent.tools.base import NoArguments, Tool, ToolContext

# Files of the kernel answer at once; a disk that hangs does not
READ_TIMEOUT_S = 5.0
# Asking the Pi's firmware takes milliseconds
VCGENCMD_TIMEOUT_S = 2.0
# The device through which the Pi's firmware is asked: without it there is nothing to ask
_FIRMWARE_DEVICE = "dev/vcio"
_PROGRAM_FOLDERS = "/usr/bin:/usr/local/bin:/opt/vc/bin"
# Not from the locale: a model is told in one language
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class SystemInfoTool(Tool[NoArguments]):
    """Reads the state of the device.

    Args:
        vcgencmd: the Pi's program for asking its firmware; found by itself if not given.
    """

    reads = Provenance.TOOL
    name = "system_info"
    description = own(
        "Load, free memory and disk, temperature, under-voltage, throttling, Wi-Fi, card errors "
        "and uptime of this device."
    )
    effect = Effect.READ
    shown = households("how this device is")
    arguments_type = NoArguments

    def __init__(self, readings: Readings, vcgencmd: Path | None = None) -> None:
        self._readings = readings
        self._vcgencmd = vcgencmd

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                told = await asyncio.to_thread(self._read)
        except TimeoutError:
            return ToolResult.failed(own("the device did not report its state in time"))
        if told["throttled"] is None:
            told["throttled"] = _words(await self._ask_firmware())
        return ToolResult.done(fields(told))

    def _read(self) -> dict[str, Fact]:
        readings = self._readings
        memory_mb, room = readings.memory_mb(), readings.room()
        return {
            "load_1min": readings.load_1min(),
            "memory_free_mb": memory_mb.get("MemAvailable"),
            "memory_total_mb": memory_mb.get("MemTotal"),
            "disk_free_mb": room.free_mb if room else None,
            "disk_total_mb": room.total_mb if room else None,
            "temperature_c": readings.temperature_c(),
            "throttled": _words(readings.throttled()),
            "wifi": self._wifi(),
            "card": self._card(),
            "uptime_s": readings.uptime_s(),
        }

    def _wifi(self) -> dict[str, Fact] | None:
        for found in self._readings.wireless():
            return {
                # The kernel's own name of a device, which no network has a say in
                "interface": configured(found.interface),
                "signal_dbm": found.signal_dbm,
                "quality_percent": found.quality_percent,
            }
        return None

    def _card(self) -> dict[str, Fact] | None:
        card = self._readings.card()
        if card.used_percent is None and not card.errors:
            return None
        return {"life_used_percent": card.used_percent, "errors": card.error_count}

    async def _ask_firmware(self) -> list[str] | None:
        program = self._vcgencmd or shutil.which("vcgencmd", path=_PROGRAM_FOLDERS)
        if program is None or not self._readings.kernel.exists(_FIRMWARE_DEVICE):
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


def _words(states: list[str] | None) -> list[Passage] | None:
    """Return one of our sentences for each set bit."""
    return None if states is None else [configured(one) for one in states]


class TimeNowTool(Tool[NoArguments]):
    """Returns date, time, weekday and time zone.

    Args:
        timezone: replaces the one that the device is set to.
    """

    reads = Provenance.OWNER
    name = "time_now"
    description = own("The current date, time and weekday.")
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(self, clock: Clock, timezone: tzinfo | None = None) -> None:
        self._clock = clock
        self._timezone = timezone

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        # Without a zone, astimezone takes the device's own, with the offset of that very moment
        now = datetime.fromtimestamp(self._clock.wall_s(), tz=self._timezone).astimezone(
            self._timezone
        )
        told = {
            "time": configured(now.isoformat(timespec="seconds")),
            "weekday": configured(_WEEKDAYS[now.weekday()]),
            "timezone": configured(now.tzname() or ""),
        }
        return ToolResult.done(fields(told))
